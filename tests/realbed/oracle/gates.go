package main

import (
	"fmt"
	"maps"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
)

// knownGates are the gates of this Kueue with their stage and whether they are on.
func knownGates() map[string]map[string]any {
	found := map[string]map[string]any{}
	for name, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		found[string(name)] = map[string]any{"stage": string(spec.PreRelease), "on": spec.Default}
	}
	return found
}

// withFeatureGates runs fn with the gates set and puts the previous values back: gates are global to a Kueue process.
func withFeatureGates(gates map[string]bool, fn func() error) error {
	previous := make(map[string]bool, len(gates))
	for name := range gates {
		feature := featuregate.Feature(name)
		if _, known := utilfeature.DefaultMutableFeatureGate.GetAll()[feature]; !known {
			return fmt.Errorf("feature gate %q is unknown to this Kueue", name)
		}
		previous[name] = utilfeature.DefaultFeatureGate.Enabled(feature)
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(maps.Clone(gates)); err != nil {
		return err
	}
	defer func() {
		if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(previous); err != nil {
			panic(fmt.Sprintf("restoring feature gates: %v", err))
		}
	}()
	return fn()
}
