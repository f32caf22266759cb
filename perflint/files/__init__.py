"""Reading and writing files that strangers may have made: never without end, whole or not at all."""
