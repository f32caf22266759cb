"""Real editors with ``perflint server``: what they show on code with Chinese and an emoji in front of the findings."""
