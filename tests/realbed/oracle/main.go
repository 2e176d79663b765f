// Oracle answers questions about Kueue with Kueue itself: it builds the real caches and runs the real scheduler of the
// version pinned in go.mod on scenarios read from standard input, one JSON object per line, and writes one answer per
// line. README.md documents the formats.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/kueue/pkg/metrics"
)

// sourceDigest is set at link time, which lets a cache of binaries tell one from the other.
var sourceDigest string

const usage = "usage: oracle label [-runs N] | cycles [-runs N] | bench [-repetitions N] | gates"

// command answers one scenario; its only option is how many times it does the work.
type command struct {
	flag   string
	times  int
	help   string
	answer func(ctx context.Context, sc *scenario, times int) (any, error)
}

// commands are those that every release has; bench.go adds that of the newer releases.
var commands = map[string]command{
	"label":  {"runs", 5, "how often to ask each question from scratch", label},
	"cycles": {"runs", 5, "how often to run each simulation from scratch", simulate},
	"gates":  {"unused", 0, "", func(context.Context, *scenario, int) (any, error) { return knownGates(), nil }},
}

func main() {
	ctrl.SetLogger(logr.Discard())
	metrics.InitMetricVectors(nil)
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("%s", usage)
	}
	command, known := commands[args[0]]
	if !known {
		return fmt.Errorf("unknown command %q; %s", args[0], usage)
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	times := flags.Int(command.flag, command.times, command.help)
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	ctx := ctrl.LoggerInto(context.Background(), logr.Discard())
	return answerLines(in, out, func(sc *scenario) (any, error) { return command.answer(ctx, sc, *times) })
}

// answerLines answers each scenario; one that cannot be answered gets an "error" and does not stop the others.
func answerLines(in io.Reader, out io.Writer, answer func(*scenario) (any, error)) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	writer := bufio.NewWriter(out)
	defer writer.Flush()
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			if err := encoder.Encode(answerLine(line, answer)); err != nil {
				return err
			}
			if err := writer.Flush(); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func answerLine(line []byte, answer func(*scenario) (any, error)) map[string]any {
	var sc scenario
	if err := json.Unmarshal(line, &sc); err != nil {
		return map[string]any{"name": nil, "error": err.Error()}
	}
	expect, err := answerOrPanic(&sc, answer)
	if err != nil {
		return map[string]any{"name": sc.Name, "error": err.Error()}
	}
	return map[string]any{"name": sc.Name, "expect": expect}
}

// answerOrPanic reports a panic as an error: Kueue relies on its API's validation, which scenarios need not have passed.
func answerOrPanic(sc *scenario, answer func(*scenario) (any, error)) (expect any, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("Kueue panicked: %v", reason)
		}
	}()
	return answer(sc)
}
