"""The values of pod scheduling: pods, nodes, groups, resources and answers."""
