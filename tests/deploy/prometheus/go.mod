// The definition of ServiceMonitors, for the tests of the manifests. Nothing of it is compiled.
module multikueue-turnstile.dev/tests/prometheus

go 1.24.0

require github.com/prometheus-operator/prometheus-operator v0.85.0
