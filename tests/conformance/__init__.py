"""One suite of the Kubernetes API, on the local server and on a real kube-apiserver."""
