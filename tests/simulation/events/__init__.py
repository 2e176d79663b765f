"""What users, operators and trouble do in a history: how each kind of event is drawn, and what it does."""
