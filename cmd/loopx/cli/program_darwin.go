package cli

import "syscall"

// groupAttr puts a program into a group of its own. This system cannot end it
// with the program that started it; its deadline and closed pipes do.
func groupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
