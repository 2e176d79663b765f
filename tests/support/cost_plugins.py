"""A tiny installed distribution that offers cost models, as a platform team would install one."""

from pathlib import Path

from manager.cost.models import GROUP


def install(folder: Path, distribution: str, source: str, **models: str) -> Path:
    """Install a module into a folder of packages; `models` maps names to functions of the module."""
    module = distribution.replace("-", "_")
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.py").write_text(source)
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    offers = "".join(f"{name} = {module}:{function}\n" for name, function in models.items())
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{offers}")
    return folder
