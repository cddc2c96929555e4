"""What stands in place of a protected value: ciphertexts, pseudonyms, noise, other words, marks."""
