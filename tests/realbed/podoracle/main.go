// Podoracle answers questions about kube-scheduler with kube-scheduler itself: it gives the real event handlers a
// scenario read from standard input (one JSON object per line), runs one real scheduling cycle, and writes what the cycle
// did. README.md documents the formats.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
)

// sourceDigest is set at link time, which lets a cache of binaries tell one from the other.
var sourceDigest string

const usage = "usage: podoracle label [-runs N] | bench [-repetitions N]"

// command answers one scenario; its only option is how many times it does the work.
type command struct {
	flag   string
	times  int
	help   string
	answer func(sc *scenario, times int) (any, error)
}

var commands = map[string]command{
	"label": {"runs", 24, "how many cycles to run from scratch, each with its own order of nodes and pods", label},
	"bench": {"repetitions", 5, "how often to measure", bench},
}

func main() {
	klog.SetLogger(klog.Logger{})
	utilruntime.ErrorHandlers = nil
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "podoracle:", err)
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
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(featureGates()); err != nil {
		return err
	}
	return answerLines(in, out, func(sc *scenario) (any, error) { return command.answer(sc, *times) })
}

// featureGates are the release's gates for groups. Evictions, nominations and conditions are written within the cycle:
// writing them later changes when they happen, not what is chosen.
func featureGates() map[string]bool {
	gates := map[string]bool{"SchedulerAsyncPreemption": false, "SchedulerAsyncAPICalls": false}
	for _, gate := range releaseGates {
		gates[gate] = true
	}
	return gates
}

// answerLines answers each scenario; one that cannot be answered gets an "error" and does not stop the others.
func answerLines(in io.Reader, out io.Writer, answer func(*scenario) (any, error)) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			if err := encoder.Encode(answerLine(line, answer)); err != nil {
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
	sc, err := readScenario(line)
	if err != nil {
		return map[string]any{"name": nil, "error": err.Error()}
	}
	expect, err := answer(sc)
	if err != nil {
		return map[string]any{"name": sc.name, "error": err.Error()}
	}
	return map[string]any{"name": sc.name, "expect": map[string]any{release: expect}}
}
