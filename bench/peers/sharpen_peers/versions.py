"""Prints the versions of the packages of one environment as a JSON object."""

import importlib.metadata as metadata
import json

PACKAGES = """sharpen torch numpy scipy cvxpy cvxpylayers diffcp clarabel scs qpth proxsuite piqp
PyPortfolioOpt skfolio Riskfolio-Lib PySCIPOpt""".split()


def installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    found = {name: installed(name) for name in PACKAGES}
    print(json.dumps({name: version for name, version in found.items() if version}))
