"""Which passages mean this?"""
