(()=>{function bytesOfBase64(text){if(Uint8Array.fromBase64)return Uint8Array.fromBase64(text);let raw=atob(text),bytes=new Uint8Array(raw.length);for(let i=0;i<raw.length;i++)
bytes[i]=raw.charCodeAt(i);return bytes}async function inflate(bytes){let stream=new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));return new Uint8Array(
await new Response(stream).arrayBuffer())}function column(entry,bytes,offset){let{n,width,delta}=entry;if(width>4||entry.wide)return wideColumn(entry,bytes,offset);
let out=new Int32Array(n),at=plane=>bytes.subarray(offset+plane*n,offset+(plane+1)*n),[a,b,c,d]=[0,1,2,3].map(plane=>plane<width?at(plane):null);if(width===1)for(let i=0;i<
n;i++)out[i]=a[i]>>>1^-(a[i]&1);else if(width===2)for(let i=0;i<n;i++){let raw=a[i]|b[i]<<8;out[i]=raw>>>1^-(raw&1)}else for(let i=0;i<n;i++){let raw=a[i]|b[i]<<
8|c[i]<<16|(d?d[i]<<24:0);out[i]=raw>>>1^-(raw&1)}if(delta)for(let i=1,sum=out[0];i<n;i++)out[i]=sum=sum+out[i]|0;return out}function wideColumn({n,width,delta},bytes,offset){
let out=new Float64Array(n);for(let i=0;i<n;i++){let raw=0,weight=1;for(let plane=0;plane<width;plane++,weight*=256)raw+=bytes[offset+plane*n+i]*weight;out[i]=raw%
2?-(raw+1)/2:raw/2}if(delta)for(let i=1;i<n;i++)out[i]+=out[i-1];return out}function later(columns,name,make){Object.defineProperty(columns,name,{configurable:!0,
enumerable:!0,get(){let value=make();return Object.defineProperty(columns,name,{value,enumerable:!0}),value}})}function processes({lane,p1,ps}){let out=new Int32Array(
lane.length),current=[];for(let i=0,next=0;i<out.length;i++)p1[i]&&(current[lane[i]]=ps[next++]),out[i]=current[lane[i]];return out}async function unpack(text){
let bytes=await inflate(bytesOfBase64(text.trim())),length=new DataView(bytes.buffer).getUint32(0,!0),head=JSON.parse(new TextDecoder().decode(bytes.subarray(4,
4+length))),columns={},offset=4+length;for(let entry of head.columns){let from=offset;later(columns,entry.name,()=>column(entry,bytes,from)),offset+=entry.n*entry.
width}return"lane"in columns&&later(columns,"p",()=>processes(columns)),{ops:columns,...head.data}}function el(name,text,className){let made=document.createElement(name);return text!=null&&(made.textContent=text),className&&(made.className=className),made}function figure(value,digits){
return value==null||value===""?"–":Number(value).toLocaleString("en",{minimumFractionDigits:digits,maximumFractionDigits:digits})}function option(value,text){
let made=el("option",text);return made.value=value,made}function button(name,action){let made=el("button",name);return made.type="button",made.addEventListener("click",action),made}var View={from:0,to:1,start:0,end:1,cursor:null,selected:null,listeners:[],cursorListeners:[],pending:!1,past:[],changedAt:-1/0,reset(end,start=0){this.from=this.
start=start,this.to=this.end=end},set(from,to){let span=Math.min(Math.max(to-from,1e-4),this.end-this.start),start=Math.min(Math.max(from,this.start),this.end-span);
!Number.isFinite(start)||!Number.isFinite(span)||Math.abs(start-this.from)<1e-9&&Math.abs(start+span-this.to)<1e-9||(performance.now()-this.changedAt>400&&this.
past.push([this.from,this.to]),this.changedAt=performance.now(),this.from=start,this.to=start+span,this.changed())},back(){this.past.length&&([this.from,this.to]=
this.past.pop(),this.changedAt=-1/0,this.changed())},changed(){this.pending||(this.pending=!0,requestAnimationFrame(()=>{this.pending=!1;for(let listener of this.
listeners)listener()}))},whole(){this.set(this.start,this.end)},zoom(factor,at){this.set(at-(at-this.from)*factor,at+(this.to-at)*factor)},move(seconds){this.set(
this.from+seconds,this.to+seconds)},point(seconds){if(seconds!==this.cursor){this.cursor=seconds;for(let listener of this.cursorListeners)listener(seconds)}}};var ON_PAPER="#coverage details, details.excerpt, details.further, #words details, #faults details.costs, .checks td > details:not(.elements)";function wirePrint(redraw){
let root=document.documentElement,theme=null,opened=[],begin=()=>{if(theme===null){theme=root.dataset.theme??"",root.dataset.theme="light",root.classList.add("p\
aper"),opened=[...document.querySelectorAll(ON_PAPER)].filter(fold=>!fold.open);for(let fold of opened)fold.open=!0;drawNow(redraw)}},end=()=>{if(theme!==null){
theme?root.dataset.theme=theme:delete root.dataset.theme,theme=null,root.classList.remove("paper");for(let fold of opened)fold.open=!1;drawNow(redraw)}};addEventListener(
"beforeprint",begin),addEventListener("afterprint",end)}function drawNow(redraw){redraw();for(let listener of View.listeners)listener()}function wireTheme(redraw){wirePrint(redraw),document.getElementById("theme").addEventListener("click",()=>{let root=document.documentElement,dark=root.dataset.
theme?root.dataset.theme==="dark":matchMedia("(prefers-color-scheme: dark)").matches;root.dataset.theme=dark?"light":"dark",redraw()}),matchMedia("(prefers-colo\
r-scheme: dark)").addEventListener("change",redraw)}var Site={rows:[],shown:[],sort:"started",down:!0,picked:[],base:"",limit:300},COLUMNS=["started","verdict","finding","nemesis","version","seed","operations","r\
ate","gap_s","recovery_s","sentence"],NUMERIC={operations:0,rate:1,gap_s:2,recovery_s:2},CLASSES={seed:"num",sentence:"what",version:"mono",started:"nowrap"},FILTERS=[
"verdict","group","fault","version","workload","test"],SEVERITIES=["data lost","missing on nodes","log truncated","inconsistent","no commits","not served","repl\
ica behind","alarm"];function byId(id){return document.getElementById(id)}function nameOr(row,name){return row[name]||(name==="nemesis"?"no fault":"–")}function valuesOf(row,name){
return name==="fault"?row.fault.length?row.fault:["no fault"]:name==="group"&&row.lost&&row.group!=="data lost"?[row.group,"data lost"]:[nameOr(row,name)]}function rankOf(group){
let place=SEVERITIES.indexOf(group);return place<0?SEVERITIES.length:place}function shownValue(row,name){return name==="recovery_s"&&row.never?"never":name in NUMERIC?
figure(row[name],NUMERIC[name]):String(row[name]??"")||"–"}function sortValue(row,name){return name==="recovery_s"&&row.never?1/0:name==="finding"?row.finding?
`${rankOf(row.group)} ${row.finding}`:"9":row[name]??(name in NUMERIC?-1/0:"")}function filterRows(){let text=byId("s-search").value.trim().toLowerCase().split(
/\s+/).filter(Boolean),wanted=FILTERS.map(name=>[name,byId(`s-${name}`).value]).filter(([,value])=>value!=="");Site.shown=Site.rows.filter(row=>wanted.every(([name,
value])=>valuesOf(row,name).includes(value))&&text.every(word=>row.text.includes(word)));let direction=Site.down?-1:1;Site.shown.sort((a,b)=>{let x=sortValue(a,
Site.sort),y=sortValue(b,Site.sort);return x<y?-direction:x>y?direction:0}),Site.limit=300,drawRows();let parts=new URLSearchParams(wanted);byId("s-search").value&&
parts.set("q",byId("s-search").value);try{history.replaceState(null,"",parts.size?`#${parts}`:location.pathname)}catch{}}function drawRow(row){let line=el("tr"),
pick=el("input"),first=el("td");pick.type="checkbox",pick.checked=Site.picked.includes(row),pick.setAttribute("aria-label",`Compare ${row.run}`),pick.addEventListener(
"change",()=>pickRow(row,pick.checked)),first.append(pick),line.append(first);for(let name of COLUMNS){let cell=el("td",void 0,CLASSES[name]??(name in NUMERIC?"\
num":""));if(name==="started"){let link=el("a",row.started||row.run);link.href=Site.base+row.href+(row.files.includes("report.html")?"/report.html":"/index.html"),
cell.append(link)}else if(name==="nemesis"){let link=el("a",nameOr(row,"nemesis"));link.href=Site.base+row.nemesisHref,cell.append(link)}else if(name==="sentenc\
e"){let text=el("div",row.sentence);text.title=row.sentence,cell.append(text)}else cell.textContent=shownValue(row,name);name==="verdict"&&(cell.className=`verd\
ict nowrap ${row.verdict.replace(" ","-")}`),name==="finding"&&row.group==="data lost"&&(cell.className="lost"),name==="recovery_s"&&row.never&&(cell.className=
"num red strong"),line.append(cell)}return line}function drawRows(){document.querySelector("#runs tbody").replaceChildren(...Site.shown.slice(0,Site.limit).map(
drawRow)),byId("s-said").textContent=Site.shown.length===Site.rows.length?`${Site.rows.length.toLocaleString("en")} runs`:`${Site.shown.length.toLocaleString("e\
n")} of ${Site.rows.length.toLocaleString("en")} runs`;let more=byId("s-more");if(more.replaceChildren(),Site.shown.length>Site.limit){let left=(Site.shown.length-
Site.limit).toLocaleString("en"),showMore=()=>{Site.limit+=1e3,drawRows()};more.append(button(`Show more (${left} left)`,showMore))}for(let head of document.querySelectorAll(
"#runs th[data-sort]"))head.dataset.sort===Site.sort?head.setAttribute("aria-sort",Site.down?"descending":"ascending"):head.removeAttribute("aria-sort")}function pickRow(row,on){
Site.picked=Site.picked.filter(other=>other!==row),on&&Site.picked.push(row),Site.picked.length>2&&(Site.picked.shift(),drawRows()),byId("s-compare").disabled=Site.
picked.length!==2,byId("s-compare").title=Site.picked.length===2?"":"Tick two runs"}function compare(){let[a,b]=Site.picked.map(row=>`${row.test}/${row.run}`);location.
href=`${Site.base}compare.html?${new URLSearchParams({a,b})}`}function wireList(){for(let name of FILTERS){let select=byId(`s-${name}`),counts=new Map;for(let row of Site.
rows)for(let value of valuesOf(row,name))counts.set(value,(counts.get(value)??0)+1);let byName=(a,b)=>rankOf(a[0])-rankOf(b[0])||(a[0]<b[0]?-1:1);for(let[value,
count]of[...counts].sort(byName))select.append(option(value,`${value} (${count})`));select.addEventListener("input",filterRows)}byId("s-search").addEventListener(
"input",filterRows),byId("site-filters").addEventListener("submit",event=>event.preventDefault()),byId("s-compare").addEventListener("click",compare);for(let head of document.
querySelectorAll("#runs th[data-sort]")){let{sort}=head.dataset,sortBy=()=>{Site.down=Site.sort===sort?!Site.down:sort in NUMERIC||sort==="started",Site.sort=sort,
filterRows()};head.replaceChildren(button(head.textContent,sortBy))}readAddress(),window.addEventListener("hashchange",()=>{readAddress(),filterRows()}),byId("s\
ite-filters").hidden=!1}function readAddress(){let parts=new URLSearchParams(location.hash.slice(1));for(let name of FILTERS)byId(`s-${name}`).value=parts.get(name)??
"";byId("s-search").value=parts.get("q")??""}var POLL_MS=2e3;function pollLive(){document.querySelector("#under-way[data-live]")&&setTimeout(async()=>{try{let answer=await fetch(
"live.html",{cache:"no-store"}),fresh=new DOMParser().parseFromString(await answer.text(),"text/html").getElementById("under-way");answer.ok&&fresh&&byId("under\
-way").replaceWith(document.adoptNode(fresh))}catch{byId("under-way").prepend(el("p","The server has ended; this is the last that it showed.","lost"));return}pollLive()},
POLL_MS)}async function startSite(){wireTheme(()=>{});let packed=byId("packed").textContent;if(packed.trim()){let data=await unpack(packed);Site.base=data.base,
Site.rows=data.rows.map(row=>({...row,text:[row.test,row.run,row.sentence,row.finding,row.seed,row.nemesis,row.version,row.verdict].join(" ").toLowerCase()})),wireList(),
filterRows()}pollLive(),document.documentElement.dataset.ready="yes",performance.mark("usable")}window.page={byId,filterRows,Site};startSite().catch(error=>console.
error(error));})();
