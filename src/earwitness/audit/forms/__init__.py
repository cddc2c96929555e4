"""The forms in which people and models write a value: how they are made, found and told apart."""
