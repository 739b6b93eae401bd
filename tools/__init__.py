"""Programs for those who develop riverlog; nothing in `src` imports them."""
