"""The main page: the verdict, price and performance, chapters and doubts. Everything else is on evidence.html."""
