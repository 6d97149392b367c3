"""The page that makes a config of a pasted or uploaded script."""

import asyncio

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.responses import HTMLResponse

from app.editor.contexts import ImportPage, ImportResult, RemarkRow
from app.editor.draft import PROJECT
from app.editor.look import readable
from app.editor.words import change_row
from app.errors import Invalid
from app.recipes import service as recipes
from app.recipes.parse import Imported
from app.routing import Router
from app.secrets import service as secrets
from app.web.deps import Store, Writer
from app.web.filters import sentence
from app.web.templating import page

router = Router()
TEXT, FILE = "text", "file"
_REMARKS = 200


@router.get("/runs/new/import")
async def import_page(request: Request, _viewer: Writer, project: str = "") -> HTMLResponse:
    return page(request, "editor/import.html", ImportPage("", "", project))


@router.post("/runs/new/import")
async def import_script(request: Request, store: Store, viewer: Writer) -> HTMLResponse:
    """What became of the text. Nothing of it is executed, and nothing is stored."""
    async with request.form() as form:
        text = await _text(form)
        project = str(form.get(PROJECT, ""))
    async with store.read() as session:
        known = await secrets.masker(session, readable(viewer))
    # A secret that stands in a script is not shown again, and is in no config.
    text = known.text(text)
    try:
        # A long text takes a tenth of a second, in which others want answers.
        found = await asyncio.to_thread(recipes.import_text, text)
    except Invalid as error:
        context = ImportPage(text, sentence(error.message), project)
        return page(request, "editor/import.html", context, status=422)
    context = ImportPage(text, "", project, _result(found))
    return page(request, "editor/import.html", context)


async def _text(form: FormData) -> str:
    """The file, if one was chosen, else what was pasted."""
    file = form.get(FILE)
    if isinstance(file, UploadFile) and file.filename:
        return (await file.read()).decode("utf-8", errors="replace")
    pasted = form.get(TEXT, "")
    return pasted.encode(errors="replace").decode() if isinstance(pasted, str) else ""


def _result(found: Imported) -> ImportResult:
    recipe = recipes.get(found.recipe)
    changes = recipes.diff((recipe, {}), (recipe, found.config))
    unresolved = [RemarkRow(each.line, each.text, each.reason) for each in found.unresolved]
    remarks = tuple(
        f"Not understood, line {each.line}: {each.text} ({each.reason})"
        for each in unresolved[:_REMARKS]
    )
    return ImportResult(
        recipe=recipe.name,
        recipe_title=recipe.title,
        count=len(found.config),
        rows=[change_row(recipe, each) for each in changes],
        unresolved=unresolved,
        notes=[RemarkRow(each.line, each.text, each.reason) for each in found.notes],
        yaml=recipes.write_document(recipe, found.config, remarks=remarks),
    )
