// An assembly file, even an empty one, lets internals.go declare functions whose bodies are linked from elsewhere.
