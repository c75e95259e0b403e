package cli

import "syscall"

// groupAttr puts a program into a group of its own and ends it with the thread
// that started it.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
