//go:build ignore

// Command gotest runs one `go test` for .ci/run and judges it more strictly
// than its exit code: a test that was skipped without being allowed to, a suite
// without a single passing test, and a run of no test at all fail too. A few
// tests that failed are run once more, alone: one that then passes is printed as
// FLAKY, with what it said, and does not fail the run. A data race is never run
// again, nor is anything in a run where much failed.
//
//	go run .ci/gotest.go -counts FILE [-allow FILE] [-suite NAME=PACKAGE:TEST]... -- GO-TEST-ARGUMENTS
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is one line of go test -json.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// result is how one test or (with an empty name) one package ended.
type result struct {
	pkg, test, action string
	seconds           float64
	output            []string
}

// rule allows skips of the tests it fits.
type rule struct {
	pkg, test *regexp.Regexp
	why       string
}

// suite is a part of the run that must not be empty.
type suite struct {
	name string
	rule
	passed  int
	seconds float64
}

func main() {
	counts := flag.String("counts", "", "append `PASSED FAILED SKIPPED` to this file")
	allow := flag.String("allow", "", "file with lines `PACKAGE-PATTERN TEST-PATTERN REASON`: skips that may be")
	var suites []*suite
	flag.Func("suite", "`NAME=PACKAGE-PATTERN:TEST-PATTERN`: a part that must have passing tests", func(s string) error {
		name, rest, ok1 := strings.Cut(s, "=")
		pkg, test, ok2 := strings.Cut(rest, ":")
		if !ok1 || !ok2 {
			return fmt.Errorf("%q is not NAME=PACKAGE:TEST", s)
		}
		r, err := newRule(pkg, test, name)
		suites = append(suites, &suite{name: name, rule: r})
		return err
	})
	flag.Parse()
	rules, err := readRules(*allow)
	if err != nil {
		fail(err)
	}
	began := time.Now()
	results, err := run(flag.Args())
	report(results)
	flaky, bad := 0, err != nil
	if err != nil {
		fmt.Println("go test:", err)
		flaky = again(flag.Args(), results)
		bad = flaky == 0
	}
	n := map[string]int{}
	for _, r := range results {
		if r.test == "" {
			continue
		}
		n[r.action]++
		for _, s := range suites {
			if r.action == "pass" && s.fits(r) {
				s.passed++
				if !strings.Contains(r.test, "/") {
					s.seconds += r.seconds
				}
			}
		}
		if r.action != "skip" {
			continue
		}
		why := strings.Join(strings.Fields(strings.Join(r.output, " ")), " ")
		why = why[:min(len(why), 200)]
		i := slices.IndexFunc(rules, func(x rule) bool { return x.fits(r) })
		switch {
		case i < 0:
			bad = true
			fmt.Printf("SKIPPED and must run: %s %s: %s\n", r.pkg, r.test, why)
		default:
			fmt.Printf("skipped: %s %s: %s (allowed: %s)\n", r.pkg, r.test, why, rules[i].why)
		}
	}
	for _, s := range suites {
		fmt.Printf("   of which %-12s %4d passed in %.1f s\n", s.name, s.passed, s.seconds)
		if s.passed == 0 {
			bad = true
			fmt.Printf("SUITE %s ran no test\n", s.name)
		}
	}
	if n["pass"] == 0 {
		bad = true
		fmt.Println("no test passed")
	}
	fmt.Printf("%d passed, %d failed, %d skipped, %d flaky in %.0f s\n", n["pass"], n["fail"], n["skip"], flaky, time.Since(began).Seconds())
	if !bad {
		n["fail"] = 0
	}
	if *counts != "" {
		f, err := os.OpenFile(*counts, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			fail(err)
		}
		fmt.Fprintln(f, n["pass"], n["fail"], n["skip"])
		if err := f.Close(); err != nil {
			fail(err)
		}
	}
	if bad {
		os.Exit(1)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "gotest:", err)
	os.Exit(2)
}

func newRule(pkg, test, why string) (rule, error) {
	p, err := regexp.Compile("^(?:" + pkg + ")$")
	if err != nil {
		return rule{}, err
	}
	t, err := regexp.Compile("^(?:" + test + ")$")
	return rule{p, t, why}, err
}

func (x rule) fits(r *result) bool {
	return x.pkg.MatchString(strings.TrimPrefix(r.pkg, "loopx/")) && x.test.MatchString(r.test)
}

func readRules(file string) ([]rule, error) {
	if file == "" {
		return nil, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []rule
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) < 3 {
			return nil, fmt.Errorf("%s: %q lacks a reason", file, strings.TrimSpace(line))
		}
		r, err := newRule(f[0], f[1], strings.Join(f[2:], " "))
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// run starts go test -json and collects what it says, in order of ending.
func run(args []string) ([]*result, error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	open := map[string]*result{}
	var done []*result
	in := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if line == "" && err != nil {
			break
		}
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			fmt.Print(line) // not an event: let it be seen
			continue
		}
		if e.Action == "build-output" {
			fmt.Print(e.Output)
			continue
		}
		key := e.Package + " " + e.Test
		r := open[key]
		if r == nil {
			r = &result{pkg: e.Package, test: e.Test}
			open[key] = r
		}
		switch e.Action {
		case "output":
			r.output = append(r.output, e.Output)
		case "pass", "fail", "skip":
			r.action, r.seconds = e.Action, e.Elapsed
			if e.Action == "pass" && e.Test != "" {
				r.output = nil
			} else {
				r.output = plain(r.output)
			}
			done = append(done, r)
			delete(open, key)
		}
	}
	err = cmd.Wait()
	for _, key := range slices.Sorted(maps.Keys(open)) {
		r := open[key]
		if r.test != "" { // its process died under it
			r.action, r.output = "fail", plain(r.output)
			done = append(done, r)
		}
	}
	return done, err
}

// again runs the failed tests of a run once more, each package by itself. It
// returns how many passed, or 0 where one did not or none may be run again.
func again(args []string, results []*result) int {
	const few = 4
	failed := map[string][]string{} // package -> top-level tests
	n := 0
	for _, r := range results {
		said := strings.Join(r.output, "\n")
		if r.action != "fail" {
			continue
		}
		if strings.Contains(said, "DATA RACE") || strings.Contains(said, "[build failed]") {
			return 0
		}
		top, _, _ := strings.Cut(r.test, "/")
		if top != "" && !slices.Contains(failed[r.pkg], top) {
			failed[r.pkg] = append(failed[r.pkg], top)
			n++
		}
		if top == "" && len(failed[r.pkg]) == 0 {
			return 0 // the package failed outside its tests
		}
	}
	if n == 0 || n > few {
		return 0
	}
	var flags []string
	for _, a := range args {
		if !strings.HasPrefix(a, "./") && !strings.HasPrefix(a, "-shuffle") {
			flags = append(flags, a)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(failed)) {
		tests := failed[pkg]
		fmt.Printf("once more: %s %s\n", pkg, strings.Join(tests, " "))
		second, err := run(append(slices.Clone(flags), "-count=1", "-run", "^("+strings.Join(tests, "|")+")$", pkg))
		report(second)
		if err != nil {
			return 0
		}
		for _, t := range tests {
			fmt.Printf("FLAKY: %s %s failed once and passed when run again\n", pkg, t)
		}
	}
	return n
}

// bounded keeps the ends of what a failed test said: a property test prints
// every draw.
func bounded(lines []string) string {
	const head, tail = 60, 140
	if n := len(lines) - head - tail; n > 0 {
		lines = slices.Concat(lines[:head], []string{fmt.Sprintf("    ... %d lines ...", n)}, lines[len(lines)-tail:])
	}
	return strings.Join(lines, "\n")
}

// plain drops the lines that only mark where a test is.
func plain(lines []string) []string {
	var out []string
	for _, l := range lines {
		s := strings.TrimSpace(l)
		if s != "" && !strings.HasPrefix(s, "=== ") && !strings.HasPrefix(s, "--- ") {
			out = append(out, strings.TrimRight(l, "\n"))
		}
	}
	return out
}

// report prints every package, and all that a failed test said.
func report(results []*result) {
	for _, r := range results {
		switch {
		case r.action == "fail" && r.test != "":
			fmt.Printf("FAIL %s %s (%.1f s)\n%s\n", r.pkg, r.test, r.seconds, bounded(r.output))
		case r.action == "fail":
			fmt.Printf("FAIL %s\n%s\n", r.pkg, bounded(r.output))
		case r.test == "" && r.action == "pass":
			seed := ""
			for _, l := range r.output {
				if strings.HasPrefix(l, "-test.shuffle") {
					seed = " " + l
				}
			}
			fmt.Printf("ok   %-34s %6.1f s%s\n", strings.TrimPrefix(r.pkg, "loopx/"), r.seconds, seed)
		}
	}
}
