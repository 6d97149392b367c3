// Buttons that copy the text of an element: <button data-copy="its id" hidden>.

async function copy(button) {
  try {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select and copy it";
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (button) copy(button);
});
for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
