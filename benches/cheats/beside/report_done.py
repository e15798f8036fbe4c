def report(prices):
    return "".join(f"{price:>6}\n" for price in prices)
