// The frame of a page in a notebook, by the contract of anywidget: it carries edited values between the page and the model.

function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts"); // an origin of its own, so the page reaches nothing of the notebook
  frame.title = model.get("_title");
  frame.style.cssText = `display:block;width:100%;height:${Number(model.get("_height"))}px;border:1px solid #ccc;box-sizing:border-box`;
  let port = null;
  let isHeard = false; // while the model takes over what this page itself has sent

  function tell() {
    if (port && !isHeard) port.postMessage(model.get("_items"));
  }

  function close() {
    if (port) port.close();
    port = null;
  }

  frame.addEventListener("load", () => { // and again, where the notebook moves the frame
    close();
    const channel = new MessageChannel();
    port = channel.port1;
    port.onmessage = ({ data }) => {
      if (!Array.isArray(data)) return;
      isHeard = true;
      model.set("_items", data);
      isHeard = false;
      model.save_changes();
    };
    frame.contentWindow.postMessage(model.get("_items"), "*", [channel.port2]); // an opaque origin has no name but this
  });
  model.on("change:_items", tell);
  frame.srcdoc = model.get("_html");
  el.append(frame);
  return () => {
    model.off("change:_items", tell);
    close();
    frame.remove();
  };
}

export default { render };
