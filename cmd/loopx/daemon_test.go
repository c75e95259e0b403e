package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"loopx/bot/client"
)

// daemonMain is loopxd: it serves LOOPX_HOME until SIGTERM, says "ready" when the
// socket is open, and "stopped" when the folder is free again.
func daemonMain() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	home, err := client.FindHome("", os.Getenv)
	if err != nil {
		fail(err)
	}
	held, srv, err := serve(ctx, home)
	if err != nil {
		fail(err)
	}
	fmt.Println("ready")
	<-ctx.Done()
	if err := srv.Stop(context.Background()); err != nil {
		fail(err)
	}
	if err := held.Close(); err != nil {
		fail(err)
	}
	fmt.Println("stopped")
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "loopxd:", err)
	os.Exit(1)
}
