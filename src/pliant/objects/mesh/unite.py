"""Parts that overlap or touch, made one body."""

from __future__ import annotations

import numpy as np

from pliant.objects.mass import mesh_volume
from pliant.objects.mesh.mesh import Mesh, used_part
from pliant.objects.mesh.repair import Repair, counted
from pliant.objects.mesh.topology import connected, disagreeing_faces, edges_of, encloses, half_edge_pairs

MOST_PARTS = 100
SLIVER = 1e-6  # edges of the union shorter than this fraction of the diagonal are collapsed


def unite_parts(mesh: Mesh) -> Repair:
    """The union of the closed parts of a mesh, less their hollows; as it is where a part is open or there is only one.

    Parts are joined across edges of two faces, so that solids set together along an edge are two. A part wound inwards
    inside another is a hollow, one wound outwards there is taken for solid and vanishes.
    """
    import manifold3d

    first, second = half_edge_pairs(edges_of(mesh.faces))
    label = connected(len(mesh.faces), first // 3, second // 3)
    number = int(label.max()) + 1
    if not 1 < number <= MOST_PARTS:
        return Repair(mesh, [])
    parts = [used_part(mesh.vertices, mesh.faces[label == k], mesh.name) for k in range(number)]
    for k, part in enumerate(parts):
        edges = edges_of(part.faces)
        wrong = disagreeing_faces(part.faces, edges)
        if (edges.count != 2).any() or wrong is None:
            return Repair(mesh, [])
        parts[k] = Mesh(part.vertices, np.where(wrong[:, None], part.faces[:, ::-1], part.faces), mesh.name)
    volumes = np.array([mesh_volume(part) for part in parts])
    if (volumes < 0).all():
        parts, volumes = [part.flipped() for part in parts], -volumes
    hollow = np.array(
        [
            volumes[k] < 0 and any(encloses(other, part) for other in parts if other is not part)
            for k, part in enumerate(parts)
        ]
    )
    parts = [part.flipped() if volume < 0 else part for part, volume in zip(parts, volumes, strict=True)]
    solids = [
        manifold3d.Manifold(manifold3d.Mesh64(np.array(part.vertices), part.faces.astype(np.uint64))) for part in parts
    ]
    if any(solid.status() != manifold3d.Error.NoError for solid in solids):
        return Repair(mesh, [])
    body = manifold3d.Manifold.batch_boolean(
        [s for s, h in zip(solids, hollow, strict=True) if not h], manifold3d.OpType.Add
    )
    for solid, is_hollow in zip(solids, hollow, strict=True):
        if is_hollow:
            body = body - solid
    made = body.simplify(SLIVER * mesh.diagonal).to_mesh64()
    united = Mesh(np.asarray(made.vert_properties)[:, :3], np.asarray(made.tri_verts, dtype=np.int64), mesh.name)
    if not len(united.faces):
        return Repair(mesh, [])
    apart = float(np.abs(volumes[~hollow]).sum() - np.abs(volumes[hollow]).sum())
    shared = apart - mesh_volume(united)
    action = (
        f"united {counted(int((~hollow).sum()), 'part', 'parts')} into one body; "
        f"what they had in common, {1e6 * shared:.3g} cm3, counts once"
    )
    return Repair(united, [action])
