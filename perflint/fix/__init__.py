"""What is asked of a fix before it is offered: see ``trial``."""
