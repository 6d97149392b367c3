"""What stands in the editor: texts as typed, and the config that they mean. No database.

The form and the YAML view are two ways to type one config. The YAML text is kept while the form is
edited and has the form's values put into place, so its comments stay.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.datastructures import FormData

from app.errors import NotFound
from app.recipes import service as recipes
from app.recipes.model import FieldType, Finding, Recipe
from app.recipes.service import Document, UnreadableError
from app.web.forms import as_text, typed_values
from app.web.once import FIELD as FORM_KEY

RECIPE, PROJECT, EXPERIMENT, NAME, CLUSTER = "recipe", "project", "experiment", "name", "cluster"
OF, AGAINST = "of", "against"
NAMING = (PROJECT, EXPERIMENT, NAME, CLUSTER, OF, AGAINST)
VIEW, YAML = "view", "yaml"
DO, SET = "do", "set"
OTHER_KEY, OTHER_VALUE = "other_key", "other_value"
YAML_VIEW = "yaml"
_OWN = frozenset({RECIPE, *NAMING, VIEW, YAML, DO, SET, OTHER_KEY, OTHER_VALUE, FORM_KEY})

Row = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """`texts` by field of the form, `others` (key, value) beyond it, `naming` by `NAMING`.

    `fault` is why `yaml` cannot be read; the config is then the one before it. `naming[OF]` is the
    id of the experiment that the config came from: names may repeat. `naming[AGAINST]` is the
    version that the changes are shown against.
    """

    recipe: Recipe
    texts: Mapping[str, str] = field(default_factory=dict)
    others: tuple[Row, ...] = ()
    naming: Mapping[str, str] = field(default_factory=dict)
    yaml: str = ""
    fault: UnreadableError | None = None
    document: Document | None = None

    @property
    def config(self) -> dict[str, Any]:
        """As typed; a text that is no value stays for `recipes.validate`."""
        rows = {key.strip(): value for key, value in self.others if key.strip() or value.strip()}
        found = recipes.read_texts(self.recipe, {**rows, **self.texts})
        return found | {key: value for key, value in self._odd_values() if found[key] != value}

    def _odd_values(self) -> list[tuple[str, Any]]:
        """Values of the YAML text that no text of its field means: null or `on` for a number."""
        fields, typed = self.recipe.fields(), self.document.values if self.document else {}
        return [
            (key, value)
            for key, value in typed.items()
            if key in fields
            and fields[key].type is not FieldType.TEXT
            and (value is None or isinstance(value, bool))
            and self.texts.get(key) == as_text(value)
        ]

    def findings(self) -> list[Finding]:
        """What is wrong with the typing itself."""
        found: dict[str, Finding] = {}
        seen = set(self.texts)
        for key, value in ((key.strip(), value) for key, value in self.others):
            if not key and value.strip():
                message = "A value without a key stands under other keys"
                found[key] = Finding(rule="no_key", fields=("",), message=message)
            elif key in seen:
                message = f"{key} is set twice: keep one of them"
                found[key] = Finding(rule="set_twice", fields=(key,), message=message)
            seen.add(key)
        return list(found.values())

    def of_config(self, config: Mapping[str, Any]) -> "Draft":
        """The same draft with this config, as texts."""
        fields = self.recipe.fields()
        texts = {key: as_text(value) for key, value in config.items() if key in fields}
        others = tuple(
            (key, recipes.write_value(value)) for key, value in config.items() if key not in fields
        )
        return replace(self, texts=texts, others=others)

    def with_values(self, values: Mapping[str, Any]) -> "Draft":
        """The same draft with some values set, as a fix does it."""
        changed = self.of_config({**self.config, **values})
        if not self.yaml:
            return changed
        written = changed.with_yaml()
        return written if written.fault is None or self.document is not None else changed

    def with_yaml(self) -> "Draft":
        """The same draft with a YAML text that means its config; comments stay."""
        if self.fault is not None:
            return self
        values = {**self.recipe.defaults(), **self.config}
        text = self.yaml or recipes.write_document(self.recipe, values)
        text = recipes.change_document(self.recipe, text, values)
        try:
            return replace(self, yaml=text, document=recipes.read_document(self.recipe, text))
        except UnreadableError as error:
            # More than is read: it stays as typed, and the YAML view says so.
            return replace(self, yaml=text, fault=error)

    def typed_yaml(self) -> str | None:
        """The text to keep beside the values; None where nobody wrote anything of it."""
        if not self.yaml or self.fault is not None:
            return None
        values = {**self.recipe.defaults(), **self.config}
        text = self.with_yaml().yaml
        return None if text == recipes.write_document(self.recipe, values) else text

    def of_recipe(self, recipe: Recipe) -> "Draft":
        """Another recipe: what was typed stays where it has the key and was not just a default."""
        before = self.recipe.defaults()
        kept = {
            key: text
            for key, text in self.texts.items()
            if key in recipe.fields() and text != as_text(before.get(key))
        }
        return replace(
            self, recipe=recipe, texts=kept, others=self.others if recipe.tree else (), yaml=""
        )

    def named(self, naming: Mapping[str, str]) -> "Draft":
        """The same draft under other names."""
        return replace(self, naming={**self.naming, **naming})

    def masked(self, mask: Any) -> "Draft":
        """Without the secrets that were typed into a field by mistake."""
        return replace(
            self,
            texts={key: mask(text) for key, text in self.texts.items()},
            others=tuple((mask(key), mask(value)) for key, value in self.others),
            naming={key: mask(text) for key, text in self.naming.items()},
            yaml=mask(self.yaml),
        )


def read_form(form: FormData) -> Draft:
    """What was sent. Raises `NotFound` for a recipe that there is not."""
    typed = typed_values(form)
    recipe = recipes.get(typed.get(RECIPE, ""))
    draft = Draft(
        recipe=recipe,
        texts={key: text for key, text in typed.items() if key in recipe.fields()},
        others=_rows(form, recipe, typed),
        naming={name: typed[name] for name in NAMING if name in typed},
        yaml=typed.get(YAML, "").replace("\r\n", "\n"),
    )
    return read_yaml(draft) if typed.get(VIEW) == YAML_VIEW else draft


def read_yaml(draft: Draft) -> Draft:
    """The draft whose config is that of its YAML text, or that says why there is none.

    A text that names another recipe changes to that one; one that there is not is a fault.
    """
    try:
        document = recipes.read_document(draft.recipe, draft.yaml)
        if document.recipe not in (None, draft.recipe.name):
            recipe = _named(document)
            draft = replace(draft, recipe=recipe)
            document = recipes.read_document(recipe, draft.yaml)
    except UnreadableError as error:
        return replace(draft, fault=error)
    return replace(draft.of_config(document.values), document=document)


def _named(document: Document) -> Recipe:
    try:
        return recipes.get(document.recipe or "")
    except NotFound as error:
        raise UnreadableError(error.message, document.recipe_mark) from None


def _rows(form: FormData, recipe: Recipe, typed: Mapping[str, str]) -> tuple[Row, ...]:
    """Rows of other keys; names that are no field's are such keys, too, and not ignored."""
    keys, values = (_texts(form, name) for name in (OTHER_KEY, OTHER_VALUE))
    rows = [(k, v) for k, v in zip(keys, values, strict=False) if k.strip() or v.strip()]
    strange = typed.keys() - recipe.fields().keys() - _OWN
    return tuple(rows + [(name, typed[name]) for name in typed if name in strange])


def _texts(form: FormData, name: str) -> list[str]:
    found = form.getlist(name)
    return [text.encode(errors="replace").decode() for text in found if isinstance(text, str)]
