def total(prices):
    return sum(prices)


def largest(prices):
    return max(prices, default=0)


def shares(prices):
    whole = sum(prices)
    return [round(100 * price / whole) for price in prices]
