"""Group core/v1 without Pod, Node and Event: Namespace, Secret, ConfigMap, ServiceAccount, LimitRange."""

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from typing import Final

from config.api.meta import Obj
from localcluster.kinds.columns import age_column, computed_column, field_column, read, text_field
from localcluster.kinds.fields import resource, resource_list
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.names import NameFormat
from localcluster.kinds.schema import Cause, SchemaError
from localcluster.kinds.structural import errors
from localcluster.kinds.structural.builder import anything, boolean, list_of, map_of, obj, preserved, string

_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_KEY_LIMIT: Final = 253


def namespace_kind() -> ServedKind:
    """Return the Namespace kind; its phase and its finalizer are the server's business."""
    return ServedKind(
        group="",
        version="v1",
        kind="Namespace",
        plural="namespaces",
        singular="namespace",
        namespaced=False,
        short_names=("ns",),
        has_status=True,
        schema=resource(
            {
                "spec": obj({"finalizers": list_of(string())}),
                "status": obj({"phase": string(), "conditions": list_of(preserved(), keys=("type",))}),
            }
        ),
        columns=(field_column("Status", "status.phase"), age_column()),
        selectable_fields={"status.phase": text_field("status.phase"), "name": text_field("metadata.name")},
        set_defaults=_label_with_name,
        name_format=NameFormat.LABEL,
    )


def secret_kind() -> ServedKind:
    """Return the Secret kind; its values are base64."""
    return ServedKind(
        group="",
        version="v1",
        kind="Secret",
        plural="secrets",
        singular="secret",
        namespaced=True,
        schema=resource(
            {
                "type": string(default="Opaque"),
                "data": map_of(string()),
                "stringData": map_of(string()),
                "immutable": boolean(),
            }
        ),
        columns=(field_column("Type", "type"), computed_column("Data", _count_secret_data, of="integer"), age_column()),
        selectable_fields={"type": text_field("type")},
        set_defaults=_encode_string_data,
        validate=_check_secret,
    )


def config_map_kind() -> ServedKind:
    """Return the ConfigMap kind."""
    return ServedKind(
        group="",
        version="v1",
        kind="ConfigMap",
        plural="configmaps",
        singular="configmap",
        namespaced=True,
        short_names=("cm",),
        schema=resource({"data": map_of(string()), "binaryData": map_of(string()), "immutable": boolean()}),
        columns=(computed_column("Data", _count_config_data, of="integer"), age_column()),
        validate=_check_config_map,
    )


def service_account_kind() -> ServedKind:
    """Return the ServiceAccount kind."""
    return ServedKind(
        group="",
        version="v1",
        kind="ServiceAccount",
        plural="serviceaccounts",
        singular="serviceaccount",
        namespaced=True,
        short_names=("sa",),
        schema=resource(
            {
                "secrets": list_of(preserved(), keys=("name",)),
                "imagePullSecrets": list_of(preserved(), keys=("name",)),
                "automountServiceAccountToken": boolean(),
            }
        ),
        columns=(age_column(),),
    )


def limit_range_kind() -> ServedKind:
    """Return the LimitRange kind."""
    limit = obj(
        {
            "type": string(),
            "max": resource_list(),
            "min": resource_list(),
            "default": resource_list(),
            "defaultRequest": resource_list(),
            "maxLimitRequestRatio": resource_list(),
        },
        required=("type",),
    )
    return ServedKind(
        group="",
        version="v1",
        kind="LimitRange",
        plural="limitranges",
        singular="limitrange",
        namespaced=True,
        short_names=("limits",),
        schema=resource({"spec": obj({"limits": list_of(limit)}, required=("limits",))}),
        columns=(field_column("Created At", "metadata.creationTimestamp"),),
        set_defaults=_complete_limits,
    )


def rbac_kinds() -> tuple[ServedKind, ...]:
    """Return roles and bindings, which are evaluated for service accounts."""
    return tuple(
        ServedKind(
            group="rbac.authorization.k8s.io",
            version="v1",
            kind=kind,
            plural=f"{kind.lower()}s",
            singular=kind.lower(),
            namespaced=not kind.startswith("Cluster"),
            schema=resource({"rules": list_of(anything()), "roleRef": preserved()}, open_ended=True),
            columns=((computed_column("Role", _role_of_binding),) if kind.endswith("Binding") else ())
            + (age_column(),),
            name_format=NameFormat.PATH_SEGMENT,
        )
        for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
    )


def _label_with_name(namespace: Obj) -> None:
    metadata = namespace.setdefault("metadata", {})
    if metadata.get("name"):
        metadata.setdefault("labels", {})[_NAME_LABEL] = metadata["name"]


def _complete_limits(limit_range: Obj) -> None:
    """Derive a container's default limit from the maximum, and its default request from limit or minimum."""
    limits = read(limit_range, "spec.limits")
    for limit in limits if isinstance(limits, list) else ():
        if isinstance(limit, dict) and limit.get("type") == "Container":
            for source, target in (("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")):
                _fill_amounts(limit, source, target)


def _fill_amounts(limit: Obj, source: str, target: str) -> None:
    known, given = limit.get(source), limit.get(target, {})
    if isinstance(known, dict) and isinstance(given, dict):
        limit[target] = {**known, **given}


def _encode_string_data(secret: Obj) -> None:
    """Move the write-only plain text into the data, as the API promises."""
    plain = secret.get("stringData")
    if not isinstance(plain, dict) or not all(isinstance(text, str) for text in plain.values()):
        return
    if isinstance(secret.setdefault("data", {}), dict):
        secret["data"].update({key: base64.b64encode(text.encode()).decode() for key, text in plain.items()})
        del secret["stringData"]


def _check_secret(new: Obj, old: Obj | None) -> Sequence[SchemaError]:
    found = [*_check_base64(new, "data"), *_check_keys(new, "data"), *_check_immutable_data(new, old)]
    if old is not None and new.get("type") != old.get("type"):
        found.append(errors.invalid("type", new.get("type"), errors.FIELD_IS_IMMUTABLE))
    return found


def _check_config_map(new: Obj, old: Obj | None) -> Sequence[SchemaError]:
    keys = (*_check_keys(new, "data"), *_check_keys(new, "binaryData"))
    return [*_check_base64(new, "binaryData"), *keys, *_check_immutable_data(new, old)]


def _check_base64(obj: Obj, field: str) -> Iterator[SchemaError]:
    """Name the key alone: the value is a secret even when it is malformed."""
    for key, value in (obj.get(field) or {}).items():
        try:
            base64.b64decode(value, validate=True)
        except binascii.Error:
            yield SchemaError(Cause.TYPE_INVALID, f"{field}[{key}]", "illegal base64 data")


def _check_keys(obj: Obj, field: str) -> Iterator[SchemaError]:
    """A key becomes a file name when it is mounted."""
    for key in obj.get(field) or {}:
        if len(key) > _KEY_LIMIT:
            yield errors.too_long(f"{field}[{key}]", _KEY_LIMIT)
        elif not _KEY.fullmatch(key) or key == "." or key.startswith(".."):
            allowed = "alphanumeric characters, '-', '_' or '.', not only dots, not beginning with '..'"
            yield errors.invalid(f"{field}[{key}]", key, f"a valid config key must consist of {allowed}")


def _check_immutable_data(new: Obj, old: Obj | None) -> Sequence[SchemaError]:
    if old is None or not old.get("immutable"):
        return ()
    return [
        errors.forbidden(field, "field is immutable when `immutable` is set")
        for field in ("immutable", "data", "binaryData")
        if new.get(field) != old.get(field)
    ]


def _count_secret_data(secret: Obj) -> int:
    return len(secret.get("data") or {})


def _count_config_data(config_map: Obj) -> int:
    return len(config_map.get("data") or {}) + len(config_map.get("binaryData") or {})


def _role_of_binding(binding: Obj) -> str:
    return f"{read(binding, 'roleRef.kind')}/{read(binding, 'roleRef.name')}"
