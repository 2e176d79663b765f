"""Files and YAML documents, with the line of every value."""
