// The page that is one file: the same tree, read from the data inside.

const data = JSON.parse(document.getElementById("data").textContent);

const briefly = (node) => node && { ...node, below: undefined };
const loaded = (node) => node.child_ids.map((id) => data.nodes[id]).filter(Boolean);

function grown(node, depth) {
  return depth > 0 && node.child_ids.length ? { ...briefly(node), below: loaded(node).map((one) => grown(one, depth - 1)) } : briefly(node);
}

function pathTo(node) {
  const path = [];
  for (let above = data.nodes[node.parent]; above; above = data.nodes[above.parent]) path.unshift(above);
  return path;
}

function found(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const all = Object.values(data.nodes).filter((node) => words.every((word) => node.text.toLowerCase().includes(word)));
  return { areas: all.filter((node) => node.kind !== "summary"), summaries: all.filter((node) => node.kind === "summary") };
}

const inside = {
  link: (id) => `#/${id}`,
  documentLink: (one) => (data.nodes[one.summary_id] ? `#/${one.summary_id}` : null),
  tree: async (id, depth) => ({ generation: data.generation, tree: data.root && grown(data.nodes[id || data.root], depth), cut: false }),
  node: async (id) => ({ ...data.nodes[id], generation: data.generation, path: pathTo(data.nodes[id]) }),
  search: async (query) => found(query),
};

const wantedNode = () => location.hash.slice(2);
const about = { status: { name: data.dataset, generation: data.generation } };
const opened = await showTree(document.getElementById("view"), inside, wantedNode(), about, () => el("p", {}, "This dataset has no index."));
window.addEventListener("hashchange", () => opened?.update({ rest: wantedNode() }));
