"""Hooks of schemathesis (recorded.sh). What it generates names things that do not exist; here most requests get the ids and keys of
things that do, so that they are answered with more than 403 and 404. FLAGRAFT_ORIGIN and FLAGRAFT_TOKEN say where and as whom."""

import collections
import json
import os
import random
import urllib.error
import urllib.request

import schemathesis

ORIGIN, TOKEN = os.environ["FLAGRAFT_ORIGIN"], os.environ["FLAGRAFT_TOKEN"]
EMAIL, PASSWORD = os.environ["FLAGRAFT_ADMIN_EMAIL"], os.environ["FLAGRAFT_ADMIN_PASSWORD"]
rng = random.Random(1)

# Which collection the members of queries and bodies refer to. Members of paths tell by the segment before them.
REFERS = {
    "feature": "features", "features": "features", "feature_id": "features", "feature_name": "features",
    "environment": "environments", "environments": "environments", "environment_id": "environments", "environment_key": "environments",
    "project": "projects", "project_id": "projects", "organisation": "organisations",
    "segment": "segments", "segment_id": "segments", "segment_ids_to_delete_overrides": "segments", "feature_segment": "feature-segments",
    "tags": "tags", "tag_ids": "tags", "user": "users", "user_ids": "users", "owners": "users",
    "group": "groups", "group_ids": "groups", "group_owners": "groups", "permission_groups": "groups",
    "identity": "identities", "source_identity_id": "identities", "identifier": "identities", "identity_identifier": "identities",
    "identity_uuid": "edge-identities", "source_identity_uuid": "edge-identities", "content_type": "supported-content-types",
    "field": "fields", "model_field": "metadata-model-fields", "multivariate_feature_option": "mv-options",
    "feature_state": "featurestates", "environment_feature_version": "versions", "permissions": "permissions",
}
# What else is below a segment: where the paths of one thing differ.
SAME = {"edge-featurestates": "featurestates", "members": "users", "user-detailed-permissions": "users",
        "all-user-permissions": "users", "download-feature-export": "feature-exports", "feature-import": "environments", "environment-feature-versions": "versions",
        "options": "mv-options", "link": "invite-links", "auth": "methods", "multivariate-options": "mv-options", "feature-health": "addresses"}
# What of an object texts outside paths name.
TEXT = {"features": "name", "identities": "identifier", "edge-identities": "identity_uuid", "environments": "api_key", "permissions": "key"}
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
FIXED = ("organisations", "projects", "environments")  # nothing generated may replace or end these

pool = collections.defaultdict(lambda: collections.deque(maxlen=12), methods=[{"method": "app"}, {"method": "email"}])
calls = 0


def call(method, path, body=None, key=None, token=TOKEN):
    """call makes a request and returns its JSON; a refusal is None, so that one that changes does not end the run."""
    head = {"Content-Type": "application/json", **({"X-Environment-Key": key} if key else {"Authorization": "Token " + token})}
    request = urllib.request.Request(ORIGIN + path, None if body is None else json.dumps(body).encode(), head, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")
    except urllib.error.HTTPError:
        return None


def keep(collection, body):
    """keep adds the objects of an answer to their collection."""
    if isinstance(body, dict) and isinstance(body.get("results"), list):
        body = body["results"]
    for o in body if isinstance(body, list) else [body]:
        if isinstance(o, dict) and (o.get("id") or o.get("uuid") or o.get("key") or o.get("name") or o.get("identity_uuid")):
            pool[collection].append(o)


def found():
    """found makes what everything else hangs from."""
    organisation = call("POST", "/api/v1/organisations/", {"name": "generated"})
    project = call("POST", "/api/v1/projects/", {"name": "generated", "organisation": organisation["id"]})
    pool["organisations"].append(organisation)
    pool["projects"].append(project)
    for name in ("generated", "versioned"):
        e = call("POST", "/api/v1/environments/", {"name": name, "project": project["id"]})
        e["server"] = call("POST", f"/api/v1/environments/{e['api_key']}/api-keys/", {"name": "k"})["key"]
        pool["environments"].append(e)
    call("POST", f"/api/v1/environments/{e['api_key']}/enable-v2-versioning/")
    client = call("POST", "/o/register/", {"client_name": "generated", "redirect_uris": ["http://127.0.0.1:1/back"]})
    pool["consents"].append({"client_id": client["client_id"], "redirect_uri": "http://127.0.0.1:1/back", "response_type": "code", "scope": "mcp",
                             "code_challenge": "a" * 43, "code_challenge_method": "S256"})
    second = call("POST", "/api/v1/auth/users/", {"email": "second@example.com", "password": "Sesame-open-3!", "first_name": "S", "last_name": "S"})
    link = call("POST", f"/api/v1/organisations/{organisation['id']}/invite-links/", {"role": "USER"})
    call("POST", f"/api/v1/users/join/link/{link['hash']}/", token=second["key"])
    users = call("GET", f"/api/v1/organisations/{organisation['id']}/users/")
    pool["users"].extend(u for u in users if u["email"] == "second@example.com")
    pool["self"].extend(u for u in users if u["email"] != "second@example.com")


def fill():
    """fill makes one more of what generated requests delete, or rarely make."""
    o, p, (e, v) = pool["organisations"][0]["id"], pool["projects"][0]["id"], pool["environments"]
    n = f"{calls}_{rng.randrange(10**6)}"
    f = call("POST", f"/api/v1/projects/{p}/features/", {"name": "f" + n, "initial_value": "v"})
    m = call("POST", f"/api/v1/projects/{p}/features/", {"name": "m" + n, "type": "MULTIVARIATE", "initial_value": "v", "multivariate_options": [
        {"type": "unicode", "string_value": "a", "default_percentage_allocation": 30}]})
    s = call("POST", f"/api/v1/projects/{p}/segments/", {"name": "s" + n, "project": p, "rules": [{"type": "ALL", "conditions": [], "rules": [
        {"type": "ANY", "rules": [], "conditions": [{"operator": "EQUAL", "property": "p", "value": "1"}]}]}]})
    t = call("POST", f"/api/v1/projects/{p}/tags/", {"label": "t" + n, "color": "#fff", "description": ""})
    g = call("POST", f"/api/v1/organisations/{o}/groups/", {"name": "g" + n})
    k = call("POST", f"/api/v1/environments/{e['api_key']}/identities/", {"identifier": "i" + n})
    x = call("POST", f"/api/v1/environments/{e['api_key']}/edge-identities/", {"identifier": "x" + n})
    for name, made in (("features", f), ("features", m), ("segments", s), ("tags", t), ("groups", g), ("identities", k), ("edge-identities", x)):
        keep(name, made)
    if not (f and m and s and k and x):
        return
    call("POST", "/api/v1/identities/", {"identifier": "i" + n, "traits": [{"trait_key": "p", "trait_value": 1}]}, e["api_key"])
    keep("mv-options", m["multivariate_options"])
    for feature in (f["id"], m["id"]):
        for env in (e, v):
            call("POST", f"/api/v1/environments/{env['api_key']}/features/{feature}/create-segment-override/", {
                "feature_segment": {"segment": s["id"]}, "enabled": True, "feature_state_value": {"type": "unicode", "string_value": "s"}})
        call("POST", f"/api/v1/environments/{e['api_key']}/identities/{k['id']}/featurestates/", {"feature": feature, "enabled": True, "feature_state_value": "i"})
        call("POST", f"/api/v1/environments/{e['api_key']}/edge-identities/{x['identity_uuid']}/edge-featurestates/",
             {"feature": feature, "enabled": True, "feature_state_value": 1})
    version = f"/api/v1/environments/{v['id']}/features/{f['id']}/versions/"
    keep("versions", call("POST", version, {}))
    env = "/api/v1/environments/" + e["api_key"]
    for path in () if pool["webhooks"] else (f"{env}/webhooks/", f"/api/v1/organisations/{o}/webhooks/"):
        keep("webhooks", call("POST", path, {"url": "http://127.0.0.1:1/", "enabled": True}))
    field = call("POST", "/api/v1/metadata/fields/", {"name": "d" + n, "type": "str", "organisation": o})
    keep("fields", field)
    for level in ("projects", "environments", "organisations"):
        keep("permissions", call("GET", f"/api/v1/{level}/permissions/"))
    model = f"/api/v1/organisations/{o}/metadata-model-fields/"
    keep("supported-content-types", call("GET", model + "supported-content-types/"))
    if field:
        for c in pool["supported-content-types"]:
            keep("metadata-model-fields", call("POST", model, {"field": field["id"], "content_type": c["id"]}))
    for level, key in () if pool["user-permissions"] else (("projects", p), ("environments", e["api_key"]), ("organisations", o)):
        keep("user-permissions", call("POST", f"/api/v1/{level}/{key}/user-permissions/", {"user": pool["users"][0]["id"], "admin": True, "permissions": []}))
        keep("user-group-permissions", g and call("POST", f"/api/v1/{level}/{key}/user-group-permissions/", {"group": g["id"], "admin": True, "permissions": []}))
    keep("master-api-keys", call("POST", f"/api/v1/organisations/{o}/master-api-keys/", {"name": n, "is_admin": True}))
    keep("invite-links", call("POST", f"/api/v1/organisations/{o}/invite-links/", {"role": "USER"}))
    keep("invites", call("POST", f"/api/v1/organisations/{o}/invites/", {"email": f"i{n}@example.com"}))
    keep("api-keys", call("POST", f"{env}/api-keys/", {"name": n}))
    keep("feature-exports", call("POST", "/api/v1/features/create-feature-export/", {"environment_id": e["id"], "tag_ids": []}))
    provider = call("POST", f"/api/v1/projects/{p}/feature-health/providers/", {"name": "Webhook"})
    if provider:
        keep("providers", provider)
        pool["addresses"].append({"path": provider["webhook_url"].rsplit("/", 1)[1]})
    keep("traits", call("GET", f"{env}/identities/{k['id']}/traits/"))
    keep("featurestates", call("GET", f"{env}/featurestates/"))
    keep("featurestates", call("GET", f"{env}/identities/{k['id']}/featurestates/"))
    keep("featurestates", call("GET", f"{env}/edge-identities/{x['identity_uuid']}/edge-featurestates/"))
    keep("feature-segments", call("GET", f"/api/v1/features/feature-segments/?environment={e['id']}&feature={f['id']}"))


def value(collection, name, kind, o):
    """value is what of an object a member of a path with this name and type takes."""
    if kind == "integer":
        names = ["id", name]
    elif collection == "environments" and name != "uuid":
        names = ["api_key"]
    else:
        names = [name, name.removesuffix("_pk"), "uuid", "identity_uuid", "featurestate_uuid", "identifier", "prefix", "hash", "key", "name", "id"]
    return next((o[n] for n in names if o.get(n) not in (None, "")), None)


def pick(collection):
    """pick is a known object; of late ones more are still there."""
    collection = SAME.get(collection, collection)
    objects = pool[collection] if collection in FIXED else list(pool[collection])[-4:]
    return rng.choice(objects) if objects else {}


def other(name, kind):
    """other is what a member of a query or body, of this name and type, may refer to."""
    return pick(REFERS[name]).get("id" if kind == "integer" else TEXT.get(REFERS[name], "id"))


def refer(node, name=None):
    """refer puts ids into a body."""
    if isinstance(node, list):
        return [refer(n, name) for n in node]
    if isinstance(node, dict):
        out = {k: refer(v, k) for k, v in node.items()}
        if name in REFERS and "id" in out and rng.random() < 0.7:
            out["id"] = other(name, "integer") or out["id"]
        if name in REFERS and "name" in out and rng.random() < 0.7:
            out["name"] = other(name, "string") or out["name"]
        if name == "scope" and "id" in out:
            out["id"] = str(pick(str(out.get("type")) + "s").get("id"))
        if out.get("type") in ("integer", "boolean", "string") and "value" in out and rng.random() < 0.7:
            out["value"] = {"integer": "7", "boolean": "true", "string": "text"}[out["type"]]
        return out
    if name in REFERS and rng.random() < 0.7 and isinstance(node, (int, str)) and not isinstance(node, bool):
        new = other(name, "integer" if isinstance(node, int) else "string")
        return node if new is None else new
    return node


def victim(collection):
    """victim is an object made to be deleted."""
    o, p = pool["organisations"][0]["id"], pool["projects"][0]["id"]
    n = f"v{calls}"
    if collection == "organisations":
        return call("POST", "/api/v1/organisations/", {"name": n})
    if collection == "projects":
        return call("POST", "/api/v1/projects/", {"name": n, "organisation": o})
    return call("POST", "/api/v1/environments/", {"name": n, "project": p})


def fresh(body, path):
    """fresh makes texts that may not be there twice, or that random ones never are."""
    for name, new in (("name", f"n{calls}"), ("label", f"l{calls}"), ("email", f"e{calls}@example.com"), ("password", f"Sesame-open-{calls}!"),
                      ("url", "http://127.0.0.1:1/"), ("grant_type", "authorization_code"), ("when", "1h")):
        if isinstance(body.get(name), str) and not (name == "name" and "providers" in path) and rng.random() < 0.6:
            body[name] = new
    if "webhooks" in path and body.get("enabled") is True and rng.random() < 0.9:
        body["enabled"] = False  # every change makes an event for each webhook
    if path.endswith("/login/"):
        body.update(email=EMAIL, password=PASSWORD)


def spare(case):
    """spare keeps what everything hangs from: the caller's membership, the environments' keys, and that the
    organisation is served."""
    own = pool["self"][0]["id"]
    if "/users/" in case.operation.path:
        for name, given in (case.path_parameters or {}).items():
            if name in ("id", "user_pk") and str(given) == str(own):
                case.path_parameters[name] = pool["users"][0]["id"]
    if case.operation.path.endswith("/remove-users/") and isinstance(case.body, list):
        case.body = [o for o in case.body if not (isinstance(o, dict) and str(o.get("id")) == str(own))]
    if isinstance(case.body, dict):
        for name in ("api_key", "force_2fa", "stop_serving_flags", "block_access_to_admin", "persist_trait_data", "max_projects", "max_seats"):
            case.body.pop(name, None)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """before_load_schema leaves a form in for one body in four, in turn one of the two kinds. One decoder reads forms and JSON, and
    schemathesis would go through the same bodies once for each. What takes a file is only sent as the form that can hold one."""
    n = 0
    for path, item in sorted(raw_schema["paths"].items()):
        for operation in item.values():
            body = operation.get("requestBody", {}).get("content", {})
            if FORMS[0] not in body:
                continue
            n += 1
            keep = {FORMS[1]} if "feature-import/" in path else {"application/json"} if n % 4 else {"application/json", FORMS[n // 4 % 2]}
            for media in set(body) - keep:
                del body[media]


@schemathesis.hook
def before_call(context, case, kwargs):
    global calls
    if calls == 0:
        found()
    if calls % 400 == 0:
        fill()
    calls += 1
    segments = [s for s in case.operation.path.split("/") if s]
    types = {p.name: p.definition.get("schema", {}).get("type") for p in case.operation.path_parameters}
    for i, s in enumerate(segments):
        if not s.startswith("{"):
            continue
        name, collection = s[1:-1], segments[i - (2 if segments[i - 1] == "get-by-uuid" else 1)]
        kind = types.get(name)
        if case.method == "DELETE" and collection in FIXED and i == len(segments) - 1:
            case.path_parameters[name] = value(collection, name, kind, victim(collection) or {}) or 0
        elif collection in FIXED or rng.random() < 0.8:
            new = "p" if name == "trait_key" else value(SAME.get(collection, collection), name, kind, pick(collection))
            if new is not None and not (collection in FIXED and rng.random() < 0.05 and case.method == "GET"):
                case.path_parameters[name] = new
    for p in case.operation.query:
        if p.name in REFERS and rng.random() < (0.7 if p.name in (case.query or {}) or p.is_required else 0.4):
            schema = p.definition.get("schema", {})
            new = other(p.name, schema.get("items", schema).get("type"))
            if new is not None:
                case.query[p.name] = new
    if "oauth/authorize" in case.operation.path and rng.random() < 0.7:
        (case.query if case.method == "GET" else case.body if isinstance(case.body, dict) else {}).update(pool["consents"][0])
    if isinstance(case.body, (dict, list)):
        case.body = refer(case.body)
    if isinstance(case.body, dict):
        fresh(case.body, case.operation.path)
    spare(case)
    e = pool["environments"][0]
    case.headers["X-Environment-Key"] = e["server"] if "document" in case.operation.path or rng.random() < 0.5 else e["api_key"]


@schemathesis.hook
def after_call(context, case, response):
    segments = [s for s in case.operation.path.split("/") if s]
    if case.method == "DELETE" and response.status_code == 204 and segments[-1].startswith("{"):
        gone, given = SAME.get(segments[-2], segments[-2]), str((case.path_parameters or {}).get(segments[-1][1:-1]))
        if gone not in FIXED:
            pool[gone] = collections.deque((o for o in pool[gone] if given not in [str(v) for v in o.values()]), maxlen=12)
    if case.method == "POST" and response.status_code in (200, 201) and case.operation.path.startswith("/api/v1/environments/") and segments[-1] in ("environments", "clone"):
        call("DELETE", f"/api/v1/environments/{json.loads(response.content)['api_key']}/")  # each makes every later change of a feature dearer
    if 200 <= response.status_code < 300 and case.method in ("GET", "POST") and not segments[-1].startswith("{") and segments[-1] not in FIXED + ("users", "permissions", "methods"):
        try:
            keep(SAME.get(segments[-1], segments[-1]), json.loads(response.content))
        except ValueError:
            pass
