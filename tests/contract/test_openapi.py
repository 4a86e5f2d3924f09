#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The agent's description of its own API is true, path by path and member by
member."""

import datetime
import itertools
import pathlib
import re
import unittest

import jsonschema

from agent import (BASE, ENDPOINTS, ENTRY, HOSTS, MAINTENANCE, RULES, AgentCase,
                   keyed, running)

SWAGGER = BASE + "/swagger.json"
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/api.md"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE",
           "BREW")

# Of a rule, and so what a path or a query names it by.
KEY = {"externalIP": "192.0.2.10", "port": 8080, "protocol": "tcp",
       "host": "llm.test", "path_prefix": "/v1", "path_match_mode": "prefix",
       "model_name": "a/b", "name": "my pool", "id": "c0ffee",
       "projectId": "red"}

# What a member needs beside it.
BESIDE = {"fc_max_queue_depth": {"fc_max_queue_wait_ms": 1}}

# By another name in fc_effective than without the fc_.
IN_FORCE = {"fc_max_queue_depth": "queue_depth",
            "fc_max_queue_wait_ms": "queue_wait_ms"}

# What a value must be that a schema cannot say.
STRINGS = {"externalIP": "2001:db8::7", "endpointIP": "2001:db8::8"}
ONLY = {"oper": {0}}
NULL_REFUSED = "fc_"

# The one needs a request that executes, the other a HAProxy that refuses:
# tests/unit/io/test_api.c and tests/haproxy/test_manage.py see them.
NOT_SEEN = {("Maintenance", "in_flight_requests"),
            ("RuleStatus", "problem")}


class Description:
    """The document, and what it says of an answer."""

    def __init__(self, document):
        self.document = document
        self.paths = document["paths"]
        self.definitions = document["definitions"]
        self.closed = self.close(self.definitions)

    def close(self, schema):
        """The same, but nothing may be in it that is not described."""
        if isinstance(schema, list):
            return [self.close(each) for each in schema]
        if not isinstance(schema, dict):
            return schema
        closed = {name: self.close(each) for name, each in schema.items()}
        if "properties" in schema and schema.get("type") == "object":
            closed["additionalProperties"] = False
        return closed

    def validator(self, schema, closed):
        definitions = self.closed if closed else self.definitions
        return jsonschema.Draft4Validator(
            {"allOf": [schema], "definitions": definitions})

    def resolve(self, schema):
        while "$ref" in schema:
            name = schema["$ref"].removeprefix("#/definitions/")
            schema = self.definitions[name]
        return schema

    def operations(self):
        for path, item in self.paths.items():
            for method, operation in item.items():
                yield path, method.upper(), operation

    def properties(self, name):
        return self.definitions[name]["properties"]

    def template(self, path):
        """The described path that this one is, or None."""
        for each in self.paths:
            if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", each), path):
                return each
        return None


def quoted(value):
    return str(value).replace("/", "%2F").replace(" ", "%20")


def target(path, operation):
    """The path with its parts and its query filled in, as of the rule."""
    values = {**KEY, "portMax": 0, "bgp": "false", "block": 0}
    for parameter in operation["parameters"]:
        if parameter["in"] == "path":
            name = parameter["name"]
            path = path.replace(f"{{{name}}}", quoted(values[name]))
    query = "&".join(f"{parameter['name']}={quoted(values[parameter['name']])}"
                     for parameter in operation["parameters"]
                     if parameter["in"] == "query")
    return path + ("?" + query if query else "")


def is_of_host(path):
    return "externalipaddress" not in path or "hosturl" in path


def body_for(path):
    if path == RULES:
        return the_rule()
    if path == HOSTS:
        return {"hostName": ENDPOINTS[0]["endpointIP"], "state": "green"}
    return {"enabled": False} if path == MAINTENANCE else None


def the_rule(with_host=True):
    body = keyed(**{name: value for name, value in KEY.items()
                    if with_host or name != "host"})
    return body


class OpenapiCase(AgentCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.description = Description(cls.agent.get(SWAGGER).must())

    def schema_of(self, operation, status):
        answers = operation["responses"]
        return answers.get(str(status), answers["default"])["schema"]

    def check(self, operation, answer):
        """The answer is as the description says."""
        schema = self.schema_of(operation, answer.status)
        if schema.get("type") == "string":
            self.assertEqual(operation["produces"],
                             [answer.headers["Content-Type"]])
            return
        self.assertEqual("application/json", answer.headers["Content-Type"])
        is_itself = schema["$ref"].endswith("/Description")
        self.description.validator(schema, closed=not is_itself).validate(
            answer.json)

    def declare(self, with_host=True):
        self.agent.delete(RULES + "/all").must()
        self.accept(the_rule(with_host))


class Document(OpenapiCase):
    """What Swagger asks of it."""

    def test_head(self):
        document = self.description.document
        self.assertEqual("2.0", document["swagger"])
        self.assertEqual("/", document["basePath"])
        self.assertEqual(self.agent.get(BASE + "/version").json["version"],
                         document["info"]["version"])

    def test_references_and_schemas_are_whole(self):
        used = set(re.findall(r'"\$ref": ?"#/definitions/(\w+)"',
                              self.agent.get(SWAGGER).text))
        for name in used | self.description.definitions.keys():
            with self.subTest(name):
                jsonschema.Draft4Validator.check_schema(
                    self.description.definitions[name])
        self.assertEqual(used, set(self.description.definitions))

    def test_parameters_are_those_of_the_path(self):
        for path, method, operation in self.description.operations():
            with self.subTest(f"{method} {path}"):
                named = [parameter["name"] for parameter
                         in operation["parameters"]
                         if parameter["in"] == "path"]
                self.assertEqual(re.findall(r"\{(\w+)\}", path), named)
                self.assertTrue(operation["summary"])
                for parameter in operation["parameters"]:
                    self.assertIn("schema" if parameter["in"] == "body"
                                  else "type", parameter)

    def test_page_for_people_has_the_same_paths(self):
        """It leaves out the forms of a path with a range of ports."""
        told = set()
        for methods, paths in re.findall(r"^\| ([A-Z, ]+) \| (`.*?`) \|",
                                         PAGE.read_text(), re.M):
            told |= set(itertools.product(
                methods.split(", "),
                (path.replace("…", RULES)
                 for path in re.findall(r"`(.*?)`", paths))))
        self.assertEqual({(method, path) for path, method, _
                          in self.description.operations()
                          if "portMax" not in path}, told)

    def test_writes_need_the_token(self):
        """And nothing else does."""
        for path, method, operation in self.description.operations():
            with self.subTest(f"{method} {path}"):
                self.assertEqual(method != "GET", "security" in operation)
        self.assertIn("bearer",
                      self.description.document["securityDefinitions"])


class Paths(OpenapiCase):

    def call(self, path, method, operation):
        return self.agent.call(method, target(path, operation),
                               body_for(path))

    def test_what_is_described_is_served(self):
        """Where all is well, 200, unless it is said to be never."""
        for path, method, operation in self.description.operations():
            with self.subTest(f"{method} {path}"):
                self.declare(is_of_host(path))
                answer = self.call(path, method, operation)
                self.check(operation, answer)
                well = 200 if "200" in operation["responses"] else 400
                self.assertEqual(well, answer.status, answer.text)
                left = 0 if method == "DELETE" else 1
                self.assertEqual(left, len(self.agent.rules()))

    def test_without_a_rule_there_is_none(self):
        for path, method, operation in self.description.operations():
            if "{" not in path:
                continue
            with self.subTest(f"{method} {path}"):
                answer = self.call(path, method, operation)
                self.assertEqual(404, answer.status)
                self.assertEqual("no-rule error", answer.json["result"])
                self.assertIn("404", operation["responses"])
                self.check(operation, answer)

    def test_maintenance_freezes_what_is_said_to_be(self):
        self.declare()
        self.agent.call("PUT", MAINTENANCE, {"enabled": True}).must()
        for path, method, operation in self.description.operations():
            if "security" not in operation or path == MAINTENANCE:
                continue
            with self.subTest(f"{method} {path}"):
                answer = self.call(path, method, operation)
                self.check(operation, answer)
                self.assertEqual("503" in operation["responses"],
                                 answer.status == 503)
                if answer.status == 503:
                    self.assertEqual("5", answer.headers["Retry-After"])
        self.assertEqual(1, len(self.agent.rules()))

    def test_head_is_served_where_get_is(self):
        self.declare(with_host=False)
        for path, item in self.description.paths.items():
            if "get" not in item:
                continue
            with self.subTest(path):
                get = self.call(path, "GET", item["get"])
                head = self.call(path, "HEAD", item["get"])
                self.assertEqual((get.status, ""), (head.status, head.text))
                self.assertEqual(get.headers["Content-Type"],
                                 head.headers["Content-Type"])

    def test_other_methods_are_not_there(self):
        self.declare()
        for path, item in self.description.paths.items():
            served = {method.upper() for method in item}
            served |= {"HEAD"} if "GET" in served else set()
            some = next(iter(item.values()))
            for method in sorted(set(METHODS) - served):
                with self.subTest(f"{method} {path}"):
                    answer = self.call(path, method, some)
                    self.assertEqual(405, answer.status)
                    self.assertEqual(
                        served, set(answer.headers["Allow"].split(", ")))
                    if method != "HEAD":
                        self.check(some, answer)
        self.assertEqual(1, len(self.agent.rules()))

    def test_other_paths_are_not_there(self):
        """Longer, shorter and misspelt ones, and what others serve."""
        known = list(self.description.paths)
        paths = {path + "/more" for path in known}
        paths |= {path.rsplit("/", 1)[0] or "/" for path in known}
        paths |= {path.replace("loadbalancer", "loadbalancers")
                  for path in known if "loadbalancer" in path}
        paths |= {RULES + "/id/x/stats", BASE + "/diagnostics",
                  BASE + "/config/ai/apikey", "/swagger.json", BASE}
        some = next(iter(self.description.paths[known[0]].values()))
        tried = 0
        for path in sorted(paths):
            path = re.sub(r"\{(\w+)\}", "x", path)
            if self.description.template(path):
                continue
            tried += 1
            for method in METHODS:
                with self.subTest(f"{method} {path}"):
                    answer = self.agent.call(method, path)
                    self.assertEqual(404, answer.status)
                    if method != "HEAD":
                        self.check(some, answer)
        self.assertGreater(tried, len(known))


class Queries(OpenapiCase):

    def test_each_is_told_apart(self):
        """A query that is described counts, but for two of the deletes."""
        for path, method, operation in self.description.operations():
            for parameter in operation["parameters"]:
                name = parameter["name"]
                if parameter["in"] != "query" or name in ("bgp", "block"):
                    continue
                with self.subTest(f"{method} {path} {name}"):
                    self.declare(is_of_host(path))
                    other = {"path_match_mode": "exact"}.get(name, "other")
                    asked = re.sub(rf"([?&]{name}=)[^&]*", rf"\g<1>{other}",
                                   target(path, operation))
                    answer = self.agent.call(method, asked)
                    if name == "projectId":
                        self.assertEqual({"lbAttr": []}, answer.must())
                    else:
                        self.assertEqual(404, answer.status)

    def test_a_bad_word_is_refused(self):
        self.declare(with_host=False)
        answer = self.agent.get(ENTRY + "?path_match_mode=some")
        self.assertEqual(400, answer.status)
        self.check(self.description.paths[RULES + "/all"]["get"], answer)

    def test_of_one_project(self):
        self.accept(keyed(host="1", projectId="red"))
        self.accept(keyed(host="2", projectId="blue"))
        self.accept(keyed(host="3"))
        for project, hosts in (("red", ["1"]), ("blue", ["2"]), ("green", []),
                               ("", ["1", "2", "3"])):
            with self.subTest(project):
                entries = self.agent.get(
                    f"{RULES}/all?projectId={project}").must()["lbAttr"]
                self.assertEqual(hosts, [entry["serviceArguments"]["host"]
                                         for entry in entries])


# ---- members

def numbers(schema):
    low, high = schema["minimum"], schema["maximum"]
    yield from ((value, 200) for value in {low, high, (low + high) // 2})
    yield from ((value, 400) for value in (low - 1, high + 1))
    yield from ((value, 422) for value in ("1", 1.5, True, [], {}))


def strings(schema, plain):
    if plain != "x":
        yield plain, 200
    else:
        yield "x", 200
        yield "é" * (schema["maxLength"] // 2), 200
    yield "x" * (schema["maxLength"] + 1), 400
    yield "a\nb", 400
    yield from ((value, 422) for value in (1, True, [], {}))


def words(schema):
    yield from ((word, 200) for word in schema["enum"])
    yield from ((value, 422) for value in ("nonsense", 1, True, [], {}))


def booleans(_):
    yield from ((True, 200), (False, 200))
    yield from ((value, 422) for value in (1, "true", [], {}))


def cases(name, schema):
    """Values of a member, and the status that each gets."""
    if "enum" in schema:
        return words(schema)
    if schema["type"] == "string":
        return strings(schema, STRINGS.get(name, "x"))
    return {"integer": numbers, "boolean": booleans}[schema["type"]](schema)


def is_zero(value):
    return not value or value == "inherit"


class Members(OpenapiCase):

    def stands(self, schema, value):
        """Whether the description takes it."""
        return self.description.validator(schema, closed=False).is_valid(value)

    def try_value(self, name, schema, value, status, body, read):
        """Posts the body, and reads the member back."""
        self.agent.delete(RULES + "/all").must()
        answer = self.agent.post(body)
        if name in ONLY and status == 200 and value not in ONLY[name]:
            status = 400
        else:
            self.assertEqual(status == 200, self.stands(schema, value))
        self.assertEqual(status, answer.status, answer.text)
        if status == 422:
            self.assertRegex(answer.json["message"], rf"^{name} in body ")
        elif status == 400:
            self.assertIn(name, answer.json["result"])
        else:
            entry, = self.agent.rules()
            self.description.validator({"$ref": "#/definitions/Rule"},
                                       closed=True).validate(entry)
            self.read_back(name, value, read(entry))
        self.assertEqual(status == 200, bool(self.agent.rules()))

    def settings(self):
        """The name that each has in fc_effective, and its schema."""
        for name, schema in self.description.properties(
                "ServiceArguments").items():
            if "x-env" in schema:
                yield IN_FORCE.get(name, name.removeprefix("fc_")), schema

    @staticmethod
    def another(schema):
        """A value that is not its default."""
        return next(value for value in schema.get("enum", ["inherit", 77])
                    if value not in ("inherit", schema["x-default"]))

    def read_back(self, name, value, entry):
        """A known member that is zero is not kept, unless it must be."""
        if name in entry:
            self.assertEqual(value, entry[name])
        else:
            self.assertTrue(is_zero(value), value)

    def test_service_arguments(self):
        tried = 0
        for name, schema in self.description.properties(
                "ServiceArguments").items():
            if "$ref" in schema:
                continue
            for value, status in cases(name, schema):
                with self.subTest(f"{name} = {str(value)[:40]!r}"):
                    body = keyed(**BESIDE.get(name, {}))
                    if name == "pd_disagg_mode":
                        for role, each in enumerate(body["endpoints"], 1):
                            each["ep_role"] = role
                    body["serviceArguments"][name] = value
                    self.try_value(name, schema, value, status, body,
                                   lambda entry: entry["serviceArguments"])
                    tried += 1
        self.assertGreater(tried, 300)

    def test_endpoints(self):
        for name, schema in self.description.properties("Endpoint").items():
            if schema.get("readOnly"):
                continue
            for value, status in cases(name, schema):
                with self.subTest(f"{name} = {str(value)[:40]!r}"):
                    body = keyed()
                    body["endpoints"][0][name] = value
                    self.try_value(name, schema, value, status, body,
                                   lambda entry: entry["endpoints"][0])

    def test_lists_of_a_rule(self):
        for name, schema in self.description.properties("Rule").items():
            with self.subTest(name):
                answer = self.agent.post({**keyed(), name: 7})
                self.assertEqual(422, answer.status)
                self.assertRegex(answer.json["message"], rf"^{name} in body ")
        most = self.description.properties("Rule")["endpoints"]["maxItems"]
        many = [{**ENDPOINTS[0], "targetPort": 1 + i} for i in range(most + 1)]
        self.refuse({**keyed(), "endpoints": many}, 400, "endpoints")
        self.accept({**keyed(), "endpoints": many[:-1]})

    def test_required(self):
        for name in ("Rule", "ServiceArguments", "Endpoint"):
            for member in self.description.definitions[name]["required"]:
                with self.subTest(f"{name}.{member}"):
                    body = keyed()
                    place = {"Rule": body,
                             "ServiceArguments": body["serviceArguments"],
                             "Endpoint": body["endpoints"][0]}[name]
                    del place[member]
                    self.refuse(body, 400, f"{member} is required")

    def test_null_is_absent_but_for_settings(self):
        for name in self.description.properties("ServiceArguments"):
            required = name in self.description.definitions[
                "ServiceArguments"]["required"]
            with self.subTest(name):
                body = keyed()
                body["serviceArguments"][name] = None
                if name == "fc_effective":
                    self.accept_alone(body)
                elif name.startswith(NULL_REFUSED):
                    self.refuse(body, 400, f"{name} must not be null")
                elif required:
                    self.refuse(body, 400, f"{name} is required")
                else:
                    self.accept_alone(body)
                    self.assertNotIn(name, self.agent.arguments())

    def test_defaults_are_in_force(self):
        self.accept(keyed())
        source = self.agent.effective()["source"]
        self.assertEqual(set(source), {own for own, _ in self.settings()})
        for own, schema in self.settings():
            with self.subTest(own):
                self.assertEqual((schema["x-default"], "default"),
                                 self.agent.in_force(own))
                self.assertTrue(schema["description"])
                inherited = {"inherit"} if "enum" in schema else set()
                in_force = self.description.properties("Effective")[own]
                self.assertEqual(
                    set(schema.get("enum", ())),
                    set(in_force.get("enum", ())) | inherited)
                self.assertNotIn("inherit", in_force.get("enum", ()))

    def test_environment_is_named(self):
        declared = {schema["x-env"]: self.another(schema)
                    for _, schema in self.settings()}
        with running(**{name: str(value)
                        for name, value in declared.items()}) as agent:
            agent.post(keyed()).must()
            for own, schema in self.settings():
                with self.subTest(own):
                    self.assertEqual((declared[schema["x-env"]], "env"),
                                     agent.in_force(own))

    def test_maintenance(self):
        for name, schema in self.description.properties(
                "MaintenanceWish").items():
            for value, status in cases(name, schema):
                with self.subTest(f"{name} = {value!r}"):
                    answer = self.agent.call("PUT", MAINTENANCE,
                                             {"enabled": True, name: value})
                    self.assertEqual(status, answer.status, answer.text)
                    self.assertEqual(status == 200, self.stands(schema, value))
                    self.check(self.description.paths[MAINTENANCE]["put"],
                               answer)
                    self.agent.call("PUT", MAINTENANCE,
                                    {"enabled": False}).must()
        self.assertEqual(400, self.agent.call("PUT", MAINTENANCE, {}).status)


class Answers(OpenapiCase):
    """All that is described of an answer is there some time."""

    def note(self, schema, value, seen):
        name = schema.get("$ref", "").removeprefix("#/definitions/")
        schema = self.description.resolve(schema)
        for member, inner in schema.get("properties", {}).items():
            if isinstance(value, dict) and member in value:
                seen.add((name, member))
                self.note(inner, value[member], seen)
        if isinstance(value, list):
            for each in value:
                self.note(schema["items"], each, seen)

    def test_nothing_is_made_up(self):
        seen = set()
        self.declare()
        on = {"enabled": True, "drain_timeout_seconds": 7}
        paths = self.description.paths
        calls = [(path, "get", None) for path in paths if "get" in paths[path]]
        calls += [(MAINTENANCE, "put", on), (RULES, "post", the_rule()),
                  (MAINTENANCE, "put", {"enabled": False}),
                  (MAINTENANCE, "put", {"enabled": 1}),
                  (RULES, "post", the_rule())]
        for path, method, body in calls:
            operation = paths[path][method]
            answer = self.agent.call(method.upper(), target(path, operation),
                                     body)
            schema = self.schema_of(operation, answer.status)
            if "$ref" in schema:
                self.check(operation, answer)
                self.note(schema, answer.json, seen)
        described = {(name, member)
                     for name, schema in self.description.definitions.items()
                     if schema.get("additionalProperties") is False
                     for member in schema["properties"]}
        self.assertEqual(NOT_SEEN, described - seen)


class Identified(OpenapiCase):
    """Rules by the id that they declare."""

    def status(self, name):
        return self.agent.get(f"{RULES}/id/{name}/status").must()

    def test_found_and_deleted(self):
        self.accept(keyed(host="1", id="one"))
        self.accept(keyed(host="2", id="two/2"))
        self.accept(keyed(host="3"))
        entry = self.agent.get(RULES + "/id/two%2F2").must()
        self.assertEqual(self.agent.rules()[1], entry)
        self.assertEqual(200, self.agent.delete(
            RULES + "/id/two%2F2?bgp=false&block=0").status)
        self.assertEqual(["1", "3"], [rule["serviceArguments"]["host"]
                                      for rule in self.agent.rules()])
        for method, path in itertools.product(
                ("GET", "DELETE"), ("two%2F2", "On", "ONE", "onee")):
            with self.subTest(f"{method} {path}"):
                answer = self.agent.call(method, f"{RULES}/id/{path}")
                self.assertEqual((404, "no-rule error"),
                                 (answer.status, answer.json["result"]))
        self.assertEqual(404, self.agent.get(RULES + "/id/").status)

    def test_of_two_the_first(self):
        self.accept(keyed(host="1", id="same"))
        self.accept(keyed(host="2", id="same"))
        for host in ("1", "2"):
            entry = self.agent.get(RULES + "/id/same").must()
            self.assertEqual(host, entry["serviceArguments"]["host"])
            self.agent.delete(RULES + "/id/same").must()
        self.assertEqual(404, self.agent.delete(RULES + "/id/same").status)

    def test_status_without_a_haproxy(self):
        before = datetime.datetime.now(datetime.timezone.utc)
        self.accept(keyed(host="1", id="gated"))
        self.accept(keyed(host="2", id="down", adminStateUp=False))
        self.accept(keyed(host="3", id="plain", mode=0))
        for name, up in (("gated", True), ("down", False), ("plain", True)):
            with self.subTest(name):
                status = self.status(name)
                self.assertEqual((up, "NO_MONITOR"),
                                 (status["adminStateUp"],
                                  status["operatingStatus"]))
                written = datetime.datetime.fromisoformat(
                    status["lastUpdated"])
                self.assertLess(abs((written - before).total_seconds()), 30)

    def test_false_is_kept_and_true_is_absent_no_more(self):
        for state in (False, True):
            self.accept_alone(keyed(id="x", adminStateUp=state))
            self.assertIs(state, self.agent.arguments()["adminStateUp"])


class Ready(OpenapiCase):

    def test_ready_is_said_alike(self):
        for path in ("/readyz", BASE + "/status/ready"):
            self.assertEqual({"ready": True, "reasons": []},
                             self.agent.get(path).must())


if __name__ == "__main__":
    unittest.main()
