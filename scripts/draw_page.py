#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draw a page of commsched-report as a picture, in Chromium without a window."""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

from tools import Failure

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def find_browser():
    """The path of a Chromium; none if there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def draw(page, picture, show="theme=light", size=(1280, 860), scale=1.5):
    """Draws what the address of the page shows behind `#`."""
    browser = find_browser()
    if browser is None:
        raise Failure(f"no browser: none of {', '.join(BROWSERS)} is on PATH")
    picture = pathlib.Path(picture).resolve()
    picture.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as profile:
        command = [
            browser, "--headless=new", "--disable-gpu", "--hide-scrollbars",
            # Containers have little of it.
            "--disable-dev-shm-usage",
            # The sandbox does not start for root, and the page is our own.
            "--no-sandbox", f"--user-data-dir={profile}",
            f"--force-device-scale-factor={scale}",
            f"--window-size={size[0]},{size[1]}", f"--screenshot={picture}",
            f"{pathlib.Path(page).resolve().as_uri()}#{show}",
        ]
        try:
            result = subprocess.run(command, capture_output=True, text=True,
                                    timeout=120)
        except subprocess.TimeoutExpired as error:
            raise Failure(f"{browser} has not drawn {page} in two "
                          "minutes") from error
    if result.returncode != 0 or not picture.exists():
        raise Failure(f"{browser} has not drawn {page}: "
                      f"{result.stderr.strip()[-500:]}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=pathlib.Path,
                        help="what commsched-report=format=html wrote")
    parser.add_argument("picture", type=pathlib.Path, help="the PNG to write")
    parser.add_argument("--show", default="theme=light",
                        help="what the address of the page shows, such as "
                        "function=backward&find=all_gather_3&theme=dark "
                        "(default: %(default)s)")
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=860)
    args = parser.parse_args(argv)
    try:
        if not args.page.is_file():
            raise Failure(f"{args.page} is no file")
        draw(args.page, args.picture, args.show, (args.width, args.height))
    except (Failure, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(args.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
