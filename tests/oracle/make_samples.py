"""Makes the sample images of data/ that are no photographs. The same bytes every time with the same library versions.

python -m venv /tmp/venv && /tmp/venv/bin/pip install numpy pillow opencv-python-headless tifffile
/tmp/venv/bin/python tests/oracle/make_samples.py data
"""

import pathlib
import sys

import cv2
import numpy as np
import tifffile
from PIL import Image

folder = pathlib.Path(sys.argv[1])
random = np.random.default_rng(20240229)


def coordinates(height, width):
    y, x = np.mgrid[0:height, 0:width]
    return x / (width - 1), y / (height - 1)


def write(name, array):
    """OpenCV writes what it reads: 16 bits per sample, colors as B, G, R."""
    assert cv2.imwrite(str(folder / name), array, [cv2.IMWRITE_PNG_COMPRESSION, 9])


# 16 bits, the whole range, both ends reached by more than one pixel.
x, y = coordinates(96, 128)
hills = 0.5 + 0.55 * np.sin(9 * x) * np.cos(7 * y)
write("gray-16bit.png", np.rint(np.clip(hills, 0, 1) * 65535).astype(np.uint16))

# A 12-bit sensor in 16-bit samples: shot noise over a vignette, nothing above 4095, saturated in the middle.
x, y = coordinates(120, 160)
electrons = 4600 * np.exp(-5 * ((x - 0.5) ** 2 + (y - 0.5) ** 2))
write("gray-12bit.png", np.clip(random.poisson(electrons / 4) * 4 + 64, 0, 4095).astype(np.uint16))

# 16-bit color.
x, y = coordinates(72, 96)
color = np.stack([x * 40000 + 500, (1 - y) * 65535, x * y * 30000 + 20000], axis=-1)
write("rgb-16bit.png", np.clip(np.rint(color + random.normal(0, 300, color.shape)), 0, 65535).astype(np.uint16))

# Floats: below zero, far above one, a few NaN and infinities.
x, y = coordinates(64, 96)
field = (np.exp(4 * x) * np.cos(11 * y) - 3 + random.normal(0, 0.25, x.shape)).astype(np.float32)
field[5, 7:11] = np.nan
field[20, 30] = field[21, 30] = np.inf
field[40, 50] = -np.inf
tifffile.imwrite(folder / "float-gray.tiff", field, photometric="minisblack", metadata=None)

# Float color (R, G, B in the file): what is not finite lies in different pixels of each channel.
x, y = coordinates(48, 64)
color = np.stack([2 * x * y, 0.1 + 0.8 * y, 1.5 - x], axis=-1)
color = (color + random.normal(0, 0.05, color.shape)).astype(np.float32)
color[3, 4, 0] = np.nan
color[10, 20, 1] = np.inf
color[11, 21, 2] = -np.inf
color[30:32, 40, :] = np.nan
tifffile.imwrite(folder / "float-rgb.tiff", color, photometric="rgb", metadata=None)

# Color under a soft round alpha.
x, y = coordinates(96, 96)
alpha = np.clip(1.6 - 3.2 * np.hypot(x - 0.5, y - 0.5), 0, 1)
rgba = np.stack([x * 255, y * 255, (1 - x) * 200, alpha * 255], axis=-1)
Image.fromarray(np.rint(rgba).astype(np.uint8)).save(folder / "rgba.png", optimize=True)

# 16 colors in 4 bits per pixel: decoders expand them.
x, y = coordinates(64, 80)
indices = np.clip((x * 3.999).astype(np.uint8) + 4 * (y * 3.999).astype(np.uint8), 0, 15)
palette = Image.fromarray(indices)
palette = palette.convert("P") if palette.mode != "P" else palette
palette.putpalette([int(v) for i in range(16) for v in (i * 17, 255 - i * 11, (i * i) % 256)])
palette.save(folder / "palette.png", bits=4, optimize=False)

# 1 bit per pixel: 0 and 1 are expanded to 0 and 255.
x, y = coordinates(50, 70)
Image.fromarray((np.sin(40 * x * y) > 0.2)).save(folder / "bilevel.png")
