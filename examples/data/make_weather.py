"""Write weather.csv: 5,000 hours of invented weather with some missing values.

The seed is fixed, so every run writes the same file:

    python3 make_weather.py > weather.csv
"""

import math
import random
import sys

HOURS = 5000
SEED = 20240229
MISSING = 0.02


def main() -> None:
    rng = random.Random(SEED)
    out = sys.stdout
    out.write("hour,temperature,humidity,pressure,wind,sunshine\n")
    front = 0.0
    gust = 0.0
    for hour in range(HOURS):
        year = math.sin(2 * math.pi * (hour / 8760 - 0.25))
        day = math.sin(2 * math.pi * (hour / 24 - 0.25))
        front = 0.985 * front + rng.gauss(0, 0.18)
        gust = 0.9 * gust + rng.gauss(0, 0.6)
        clouds = min(1.0, max(0.0, 0.5 - 0.4 * front + rng.gauss(0, 0.1)))
        sunshine = max(0.0, day + 0.3 * year) * (1 - clouds) * 800
        temperature = 9 + 9 * year + 4 * day + 2.5 * front + rng.gauss(0, 0.8)
        humidity = 75 - 1.6 * (temperature - 9) + 18 * (clouds - 0.5) + rng.gauss(0, 5)
        pressure = 1013 + 9 * front + rng.gauss(0, 0.7)
        wind = abs(4 - 1.5 * front + 1.8 * gust)
        fields = [
            f"{temperature:.1f}",
            f"{min(100.0, max(8.0, humidity)):.0f}",
            f"{pressure:.1f}",
            f"{wind:.1f}",
            f"{sunshine:.0f}",
        ]
        fields = ["" if rng.random() < MISSING else field for field in fields]
        out.write(f"{hour},{','.join(fields)}\n")


if __name__ == "__main__":
    main()
