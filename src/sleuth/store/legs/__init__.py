"""What a leg is: how the store asks rows of a family, and how arrays, bitmaps and hits are passed."""
