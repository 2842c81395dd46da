#!/usr/bin/env python3
"""Makes tests/data/images: small PNG and JPEG files, and what Pillow makes of them.

    tools/make_image_golden.py tests/data/images        (Debian's python3-pil, Pillow 9.4)

NAME.png or NAME.jpg is the image; NAME.rgb its decoded pixels after convert("RGB"); NAME.WxH.FILTER.rgb the same after
resize((W, H), FILTER). Raw files: 8-bit RGB, row by row.
"""
import sys
from pathlib import Path

from PIL import Image


def picture(width, height):
    """Smooth gradients, sharp edges and a little pseudo-random texture."""
    image = Image.new("RGB", (width, height))
    state = 12345
    for y in range(height):
        for x in range(width):
            state = (1103515245 * state + 12345) % 2**31
            noise = state % 32
            edge = 200 if (x // 7 + y // 5) % 2 else 20
            image.putpixel((x, y), ((x * 255 // width + noise) % 256, (y * 255 // height) % 256, (edge + noise) % 256))
    return image


def main():
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    base = picture(53, 37)
    base.save(out / "rgb.png")
    base.convert("L").save(out / "grey.png")
    base.quantize(16).save(out / "palette.png")
    alpha = base.copy()
    alpha.putalpha(base.convert("L"))
    alpha.save(out / "alpha.png")
    base.save(out / "colour.jpg", quality=90)
    base.convert("L").save(out / "grey.jpg", quality=90)
    for path in sorted(out.glob("*.png")) + sorted(out.glob("*.jpg")):
        rgb = Image.open(path).convert("RGB")
        (out / (path.name + ".rgb")).write_bytes(rgb.tobytes())
    for width, height in ((16, 16), (224, 32), (53, 20), (7, 90)):
        for name, filter_ in (("bilinear", Image.BILINEAR), ("bicubic", Image.BICUBIC), ("nearest", Image.NEAREST)):
            resized = base.resize((width, height), filter_)
            (out / f"rgb.{width}x{height}.{name}.rgb").write_bytes(resized.tobytes())


main()
