// Pairs of texts that lie over each other as far as they can be seen: [text, text, pixels across and down, section].
() => {
  const clipped = (e, r) => { // the part of a text that can be seen within what scrolls
    let box = { left: r.left, right: r.right, top: r.top, bottom: r.bottom };
    for (let p = e; p && p !== document.body; p = p.parentElement) {
      const style = getComputedStyle(p);
      if (style.position === 'sticky' || style.position === 'fixed') return null;
      if (style.overflowX !== 'visible' || style.overflowY !== 'visible') {
        const b = p.getBoundingClientRect();
        box = { left: Math.max(box.left, b.left), right: Math.min(box.right, b.right), top: Math.max(box.top, b.top), bottom: Math.min(box.bottom, b.bottom) };
      }
    }
    return box.right - box.left > 1 && box.bottom - box.top > 1 ? box : null;
  };
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const e = node.parentElement;
    if (!node.data.trim() || !e.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || e.closest('script,style,noscript,option,select,.sr')) continue;
    const range = document.createRange(); range.selectNodeContents(node);
    for (const r of range.getClientRects()) {
      if (r.width < 2 || r.height < 2) continue;
      const box = clipped(e, r);
      if (box) texts.push({ ...box, node, text: node.data.trim().slice(0, 40) });
    }
  }
  texts.sort((a, b) => a.top - b.top);
  const found = [];
  for (let i = 0; i < texts.length; i++)
    for (let j = i + 1; j < texts.length && texts[j].top < texts[i].bottom; j++) {
      const a = texts[i], b = texts[j];
      if (a.node === b.node) continue;
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left), down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      const least = Math.min(a.bottom - a.top, b.bottom - b.top);
      if (across > 2 && down > least * 0.4) found.push([a.text, b.text, Math.round(across), Math.round(down), a.node.parentElement.closest('section,header,nav')?.id ?? '']);
    }
  return found;
}
