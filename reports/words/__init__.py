"""Words: the English that is made of findings; the judge and the page write these sentences, and no others."""
