package main

import (
	"encoding/json"
	"slices"
)

// answerSet collects the distinct answers of repeated runs. Kueue breaks some ties by the order of a Go map, so every
// question is asked several times from scratch; more than one distinct answer is itself the answer.
type answerSet struct {
	encoded []string
}

func (s *answerSet) add(answer any) error {
	encoded, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	if !slices.Contains(s.encoded, string(encoded)) {
		s.encoded = append(s.encoded, string(encoded))
	}
	return nil
}

func (s *answerSet) result() any {
	if len(s.encoded) == 1 {
		return json.RawMessage(s.encoded[0])
	}
	slices.Sort(s.encoded)
	answers := make([]json.RawMessage, len(s.encoded))
	for i, encoded := range s.encoded {
		answers[i] = json.RawMessage(encoded)
	}
	return map[string]any{"nondeterministic": answers}
}

// askRepeatedly runs ask under the given feature gates and returns what it answered.
func askRepeatedly[T any](gates map[string]bool, runs int, ask func() (T, error)) (any, error) {
	var answers answerSet
	err := withFeatureGates(gates, func() error {
		for range runs {
			answer, err := ask()
			if err != nil {
				return err
			}
			if err := answers.add(answer); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answers.result(), nil
}
