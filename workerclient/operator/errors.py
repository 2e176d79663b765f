"""Why an operator's kubeconfig cannot be used."""


class OperatorKubeconfigError(ValueError):
    """One sentence that names the file and the remedy; it never quotes a credential."""
