"""Which passages hold these words?"""
