"""How good is a ranking, and is one better than another?"""
