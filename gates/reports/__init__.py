"""How decisions are presented: explanations, descriptions, timelines, records."""
