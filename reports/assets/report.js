(()=>{var View={from:0,to:1,start:0,end:1,cursor:null,selected:null,listeners:[],cursorListeners:[],pending:!1,past:[],changedAt:-1/0,reset(end,start2=0){this.from=this.
start=start2,this.to=this.end=end},set(from,to){let span=Math.min(Math.max(to-from,1e-4),this.end-this.start),start2=Math.min(Math.max(from,this.start),this.end-
span);!Number.isFinite(start2)||!Number.isFinite(span)||Math.abs(start2-this.from)<1e-9&&Math.abs(start2+span-this.to)<1e-9||(performance.now()-this.changedAt>400&&
this.past.push([this.from,this.to]),this.changedAt=performance.now(),this.from=start2,this.to=start2+span,this.changed())},back(){this.past.length&&([this.from,
this.to]=this.past.pop(),this.changedAt=-1/0,this.changed())},changed(){this.pending||(this.pending=!0,requestAnimationFrame(()=>{this.pending=!1;for(let listener of this.
listeners)listener()}))},whole(){this.set(this.start,this.end)},zoom(factor,at){this.set(at-(at-this.from)*factor,at+(this.to-at)*factor)},move(seconds){this.set(
this.from+seconds,this.to+seconds)},point(seconds){if(seconds!==this.cursor){this.cursor=seconds;for(let listener of this.cursorListeners)listener(seconds)}}},ViewKeys={
ArrowLeft:()=>View.move((View.from-View.to)/8),ArrowRight:()=>View.move((View.to-View.from)/8),"+":()=>View.zoom(1/1.5,(View.from+View.to)/2),"=":()=>View.zoom(
1/1.5,(View.from+View.to)/2),"-":()=>View.zoom(1.5,(View.from+View.to)/2),0:()=>View.whole(),Home:()=>View.whole()};function textOfValue(data,letter,i){let{ops,names}=data,kind=ops[`${letter}k`][i],a=ops[`${letter}a`][i],b=ops[`${letter}b`][i];return kind===1?String(a):kind===
2?`${a} → ${b}`:kind===3?names.texts[a]??"…":kind===4?`absent → ${b}`:""}function nameOf(data,column2,i){let code=data.ops[column2][i];return code<0?"":data.
names[column2][code]}function plainKey(text){return text.length>1&&text[0]==='"'&&text.at(-1)==='"'?text.slice(1,-1):text}var OUTCOMES=["ok","info","fail"];function lowerBound(array,value){
let low=0,high=array.length;for(;low<high;){let middle=low+high>>1;array[middle]<value?low=middle+1:high=middle}return low}var Timeline={data:null,canvas:null,row:null,
rows:[],mask:null,reach:null,focus:null,hits:[],range:null,rowHeight:18},BADNESS=[1,3,2];function endOf(data,i){return data.ops.d[i]<0?data.end*1e6:data.ops.t[i]+
data.ops.d[i]}function reachOf(data){let reach=new Float64Array(data.ops.t.length),latest=0;for(let i=0;i<reach.length;i++)latest=Math.max(latest,endOf(data,i)),
reach[i]=latest;return reach}function visibleRange(){let{ops}=Timeline.data;return[lowerBound(Timeline.reach,View.from*1e6),lowerBound(ops.t,View.to*1e6+1)]}function boxLabel(i,named=!0){
let{data}=Timeline,kind=data.names.f[data.ops.f[i]],steps=stepsOf(i);if(steps)return steps.map(({text:text2})=>text2).join(", ");let key=named?plainKey(nameOf(data,
"k",i)):"",text=(data.ops.w?nameOf(data,"w",i):"")||labelInViolation(data,data.ops.i[i]);if(text)return`${key?`${key} `:""}${text}`;let value=kind==="read"?data.
ops.o[i]===0?textOfValue(data,"q",i)||"absent":"":textOfValue(data,"v",i);return`${kind} ${key?`${key} `:""}${value}${kind==="read"?"":answerText(i,value)}`}var READS=[
"r","read"];function stepsOf(i){let{data}=Timeline;if(nameOf(data,"f",i)!=="txn")return null;let answered=data.ops.o[i]===0;try{return JSON.parse(answered&&textOfValue(
data,"q",i)||textOfValue(data,"v",i)).map(([f,key,value])=>({writes:!READS.includes(f),text:stepText(f,key,value,answered)}))}catch{return null}}function stepText(f,key,value,answered){
return READS.includes(f)?answered?`read ${Array.isArray(value)?`[${value.map(plain).join(" ")}]`:value===null?"nothing":plain(value)} in ${plain(key)}`:`read ${plain(
key)}`:`${f==="w"?"write":f} ${plain(value)} to ${plain(key)}`}function plain(value){return typeof value=="string"?value:JSON.stringify(value)}function labelInViolation(data,index){
for(let{ops,labels}of data.violations??[]){let label=labels?.[ops.indexOf(index)];if(label)return label}return""}function answerText(i,asked){let{data}=Timeline,
answer=data.ops.o[i]===0?textOfValue(data,"q",i):"";return answer&&answer!==asked?` → ${answer}`:""}function placeOfIndex(index){let{ops}=Timeline.data,place=lowerBound(
ops.i,index);return place<ops.i.length&&ops.i[place]===index?place:-1}var FILTERS=[["key","f-key"],["process","f-process"],["kind","f-kind"],["outcome","f-outcome"]];function say(text){document.getElementById("f-said").textContent=
text}function clearFilters(){for(let[,id]of FILTERS)document.getElementById(id).value=""}function applyFilters(){let{ops}=Timeline.data,{mask}=Timeline,chosen=id=>document.
getElementById(id).value.trim(),key=chosen("f-key"),kind=chosen("f-kind"),outcome=chosen("f-outcome"),process=chosen("f-process"),shown=0;for(let i=0;i<mask.length;i++){
let keep=(key===""||ops.k[i]===+key)&&(kind===""||ops.f[i]===+kind)&&(process===""||String(ops.p[i])===process)&&(outcome===""||(outcome==="errors"?ops.o[i]!==0:
ops.o[i]===+outcome));mask[i]=keep?1:0,shown+=mask[i]}document.getElementById("b-clear").hidden=shown===mask.length,say(shown===mask.length?"":`${shown.toLocaleString(
"en")} of ${mask.length.toLocaleString("en")}`),View.changed()}function el(name,text,className){let made=document.createElement(name);return text!=null&&(made.textContent=text),className&&(made.className=className),made}function figure(value,digits){
return value==null||value===""?"–":Number(value).toLocaleString("en",{minimumFractionDigits:digits,maximumFractionDigits:digits})}function option(value,text){
let made=el("option",text);return made.value=value,made}function svg(name,attributes){let made=document.createElementNS("http://www.w3.org/2000/svg",name);for(let[
key,value]of Object.entries(attributes))made.setAttribute(key,value);return made}function button(name,action){let made=el("button",name);return made.type="butto\
n",made.addEventListener("click",action),made}var ORDER=new Intl.Collator("en",{numeric:!0});function inOrder(a,b){return ORDER.compare(a,b)}var MAX_ROWS=1500;function groupRows(by){let{data}=Timeline,{ops}=data;
by==="process"?(Timeline.row=ops.lane,Timeline.rows=processLabels(data)):Object.assign(Timeline,packRows(data,by==="node"?"n":"k")),Timeline.by=by;let count=Math.
max(Timeline.rows.length,1);Timeline.rowHeight=Math.max(5,Math.min(20,Math.floor(520/count)))}function processLabels(data){let first=new Array(data.lanes).fill(
null),many=new Array(data.lanes).fill(0),{lane,p1,ps}=data.ops;for(let i=p1.indexOf(1),next=0;i>=0;i=p1.indexOf(1,i+1),next++)first[lane[i]]??=ps[next],many[lane[i]]++;
return first.map((process,lane2)=>({label:many[lane2]>1?`${process} +${many[lane2]-1}`:String(process)}))}function packRows(data,column2){let{ops,names}=data,row=new Int32Array(
ops.t.length),groups=new Map;for(let i=0;i<row.length;i++){let code=ops[column2][i],group=groups.get(code);group||(group={code,free:[]},groups.set(code,group));
let lane=group.free.findIndex(end=>end<=ops.t[i]);lane<0&&(lane=Math.min(group.free.length,63)),group.free[lane]=endOf(data,i),row[i]=lane}let rows=[],title=code=>code<
0?"–":plainKey(names[column2][code]),order=[...groups.values()].map(group=>({group,name:title(group.code)})).sort((a,b)=>inOrder(a.name,b.name));for(let{group,
name}of order){group.start=rows.length;for(let lane of group.free.keys())rows.push({label:lane?"":name,first:lane===0})}for(let i=0;i<row.length;i++)row[i]+=groups.
get(ops[column2][i]).start;return{row,rows:rows.slice(0,MAX_ROWS)}}var MOST_ROWS=200,HEADS=["","count","ok","info","fail","p50 ms","p95 ms","p99 ms","most ms","most frequent error"],BY={kind:data=>i=>nameOf(data,"f",i),outcome:data=>i=>OUTCOMES[data.
ops.o[i]],client:data=>{let labels=processLabels(data);return i=>labels[data.ops.lane[i]].label},node:data=>i=>nameOf(data,"n",i)||"–",key:data=>i=>plainKey(nameOf(
data,"k",i))||"–",phase:data=>i=>nameOf(data,"ph",i)||"–"};function initRangeTable(){let fold=document.getElementById("as-table"),by=document.getElementById(
"by-table"),fill=()=>{fold.open&&fillTable(by.value)};for(let[element,name]of[[fold,"toggle"],[by,"input"]])element.addEventListener(name,fill);View.listeners.push(
fill),document.getElementById("b-range").addEventListener("click",()=>chooseRange(null))}function chooseRange(range){Timeline.range=range,range&&(document.getElementById(
"as-table").open=!0),View.changed()}function groupsIn(data,from,to,by){let{mask,reach}=Timeline,{ops}=data,nameOfGroup=BY[by](data),groups=new Map;for(let i=lowerBound(
reach,from*1e6),last=lowerBound(ops.t,to*1e6+1);i<last;i++){if(!mask[i]||endOf(data,i)<from*1e6)continue;let name=nameOfGroup(i),group=groups.get(name);group||(group=
{name,counts:[0,0,0],took:[],errors:new Map},groups.set(name,group)),group.counts[ops.o[i]]++,ops.o[i]===0&&ops.d[i]>=0&&group.took.push(ops.d[i]/1e3),ops.e[i]>=
0&&group.errors.set(ops.e[i],(group.errors.get(ops.e[i])??0)+1)}return[...groups.values()].sort((a,b)=>inOrder(a.name,b.name))}function quantile(sorted,share){return sorted.
length?sorted[Math.ceil(share*sorted.length)-1]:null}function fillTable(by){let{data,range}=Timeline,[from,to]=range??[View.from,View.to],groups=groupsIn(data,from,
to,by),table=document.createElement("table"),head=table.createTHead().insertRow();for(let[place,name]of HEADS.entries()){let cell=el("th",name||by,place&&place<
9?"num":"");cell.scope="col",head.append(cell)}let body=table.createTBody();for(let{name,counts,took,errors}of groups.slice(0,MOST_ROWS)){let row=body.insertRow(),
[code,times]=[...errors].sort((a,b)=>b[1]-a[1])[0]??[];took.sort((a,b)=>a-b);let numbers=[counts[0]+counts[1]+counts[2],...counts].map(count=>figure(count,0)),took4=[
.5,.95,.99,1].map(share=>figure(quantile(took,share),1));row.append(el("th",name));for(let text of[...numbers,...took4])row.append(el("td",text,"num"));row.append(
el("td",code===void 0?"":`${data.names.e[code]} (${times})`,"error"))}let more=groups.length>MOST_ROWS?`, the first ${MOST_ROWS} of ${groups.length} rows`:"";document.
getElementById("said-table").textContent=`${from.toFixed(3)} to ${to.toFixed(3)} s, ${range?"as selected":"as in view"}${more}`,document.getElementById("b-range").
hidden=!range,document.querySelector("#as-table .scroll").replaceChildren(table)}var TERM=/^(!?)\s*([a-z]+)\s*(!=|<=|>=|=|<|>|:)\s*(.+)$/,WORD=/^(!?)\s*(ok|info|fail|violation|open)$/,UNITS={us:1,µs:1,ms:1e3,s:1e6},COMPARE={"=":(a,b)=>a===b,
"<":(a,b)=>a<b,"<=":(a,b)=>a<=b,">":(a,b)=>a>b,">=":(a,b)=>a>=b},QUERY_FIELDS="op, key, node, process, phase, error, value, index, lat, t, during",TEXTS={op:"f",
kind:"f",key:"k",node:"n",phase:"ph",error:"e"},KNOWN=new Set([...Object.keys(TEXTS),"process","value","index","lat","t","during"]);function isQuery(text){let first=text.
split(/[&|]/)[0].trim();return WORD.test(first)||KNOWN.has(TERM.exec(first)?.[2])}function compile(text,data){let either=text.split("|").map(part=>{let all=part.
split("&").map(term=>termTest(term.trim(),data));return i=>all.every(test=>test(i))});return i=>either.some(test=>test(i))}function termTest(text,data){let word=WORD.
exec(text),[,not,...parts]=word??TERM.exec(text)??[];if(!parts.length)throw new Error(`“${text}” is not a term; the choices are ok, info, fail, open, violatio\
n, ${QUERY_FIELDS}`);let test=word?wordTest(parts[0],data):fieldTest(parts[0],parts[1],parts[2].trim(),data);return not?i=>!test(i):test}function wordTest(word,data){
let{ops}=data;if(word==="open")return i=>ops.d[i]<0;if(word!=="violation")return i=>ops.o[i]===OUTCOMES.indexOf(word);let members=new Set(data.violations.flatMap(
violation=>violation.ops));return i=>members.has(ops.i[i])}function fieldTest(name,sign,wanted,data){if(sign==="!="){let same=fieldTest(name,"=",wanted,data);return i=>!same(
i)}let{ops}=data;if(name in TEXTS)return textTest(TEXTS[name],sign,wanted,data);if(name==="process")return numberTest(sign,wanted,i=>ops.p[i]);if(name==="index")
return numberTest(sign,wanted,i=>ops.i[i]);if(name==="lat")return numberTest(sign,wanted,i=>ops.d[i]<0?1/0:ops.d[i],1e3);if(name==="t")return numberTest(sign,wanted,
i=>ops.t[i],1e6);if(name==="value")return valueTest(sign,wanted,data);if(name==="during")return duringTest(wanted,data);throw new Error(`“${name}” is not know\
n; the choices are ${QUERY_FIELDS}`)}function textTest(column2,sign,wanted,data){let word=wanted.toLowerCase();if(sign!=="="&&sign!==":")throw new Error(`text c\
an only be compared with = or :, not with ${sign}`);let found=data.names[column2].map(name=>{let text=plainKey(name).toLowerCase();return sign===":"?text.includes(
word):text===word});return i=>data.ops[column2][i]>=0&&found[data.ops[column2][i]]}function numberTest(sign,wanted,numberOf,unit=1){let[,digits,suffix]=/^(-?\d+(?:\.\d+)?)\s*([a-zµ]*)$/.
exec(wanted)??[],compare=COMPARE[sign];if(digits===void 0||!compare||suffix&&!(unit>1&&suffix in UNITS))throw new Error(`“${sign}${wanted}” does not compare w\
ith a number`);let limit=Number(digits)*(suffix?UNITS[suffix]:unit);return i=>compare(numberOf(i),limit)}function valueTest(sign,wanted,data){let matches2=text=>sign===
":"?text.includes(wanted):text===wanted;if(sign==="="||sign===":")return i=>matches2(plainKey(textOfValue(data,"v",i)))||matches2(plainKey(textOfValue(data,"q",
i)));let{ops}=data,asked=numberTest(sign,wanted,i=>ops.vk[i]===1?ops.va[i]:Number.NaN),answered=numberTest(sign,wanted,i=>ops.qk[i]===1?ops.qa[i]:Number.NaN);return i=>asked(
i)||answered(i)}function duringTest(wanted,data){let installed=data.faults.filter(({state})=>state!=="skipped"),overlaps=i=>fault=>fault.start*1e6<=endOf(data,i)&&
fault.end*1e6>=data.ops.t[i];if(wanted==="none")return i=>!installed.some(overlaps(i));let number=/^#(\d+)$/.exec(wanted)?.[1],chosen=installed.filter(({id,fault,
family})=>number===void 0?fault.includes(wanted)||family===wanted:id===Number(number));if(!chosen.length)throw new Error(`no fault matches ${wanted}`);return i=>chosen.
some(overlaps(i))}var ROLE_NAMES=["leader","follower","candidate","not reported","no answer to probes","its server is killed, another process answers"];function termText(term){return term>=
0?`, term ${term}`:""}function stretchAt(data,place,seconds){return data.stretches?.[place]?.find(([,,from,to])=>from<=seconds&&seconds<to)}function answersAt(data,node,seconds){
let place=data.nodes.findIndex(one=>one.name===node),found=stretchAt(data,place,seconds);return found!==void 0&&found[0]<4}function leaderAt(data,seconds){let found=data.
led?.find(([,,from,to])=>from<=seconds&&seconds<to);return found?{node:data.nodes[found[0]].name,term:found[1]}:null}function describe(i,mostSteps=1/0){let{data}=Timeline,{ops}=data,ms=ops.d[i]/1e3;return[...operationRows(i,mostSteps),["outcome",ops.o[i]===1?"info: unknown, ma\
y take effect later":OUTCOMES[ops.o[i]]],["error",nameOf(data,"e",i)],["process",String(ops.p[i])],["node",nameOf(data,"n",i)],["key",plainKey(nameOf(data,"k",i))],
["invoked",secondsText(ops.t[i])],[ops.o[i]===1?"given up at":"completed",ops.d[i]<0?"":secondsText(ops.t[i]+ops.d[i])],["took",ops.d[i]<0?"never answered":`${ms.
toLocaleString("en",{maximumFractionDigits:3})} ms`],["index",ops.r[i]<0?String(ops.i[i]):`${ops.i[i]} to ${ops.i[i]+ops.r[i]}`],["phase",nameOf(data,"ph",i)],[
"leader then",leaderText(data,Math.min(endOf(data,i),data.end*1e6)/1e6)],["role of its node",roleText(data,nameOf(data,"n",i),endOf(data,i)/1e6)],["violation",violationText(
data,ops.i[i])],["fault",data.faults.filter(f=>f.state!=="skipped"&&f.start<=endOf(data,i)/1e6&&f.end>=ops.t[i]/1e6).map(f=>f.fault).join(", ")]].filter(([,text])=>text!==
"")}function operationRows(i,most){let steps=stepsOf(i);if(!steps)return[["operation",boxLabel(i)]];let rows=steps.slice(0,most).map(({text},place)=>[`step ${place+
1}`,text]);return steps.length>most?[...rows,["",`… ${steps.length-most} more`]]:rows}function secondsText(microseconds){return`${(microseconds/1e6).toFixed(6)}\
 s`}function leaderText(data,seconds){if(!data.roles)return"";let led=leaderAt(data,seconds);return led?`${led.node}${termText(led.term)}`:"none"}function roleText(data,name,seconds){
let place=data.nodes.findIndex(node=>node.name===name),found=place<0?void 0:stretchAt(data,place,seconds);return found?`${ROLE_NAMES[found[0]]}${found[0]<4?termText(
found[1]):""}`:""}function violationText(data,index){let texts=[];for(let[place,{kind,ops,suspects,says}]of data.violations.entries()){if(!ops.includes(index))continue;
let blame=suspects.length>1?", one of those that cannot all be placed":", cannot be placed",role=says.length?`: ${says[ops.indexOf(index)]}`:suspects.includes(index)?
blame:"";texts.push(`${kind} (${place+1})${role}`)}return texts.slice(0,4).join("; ")}function listOf(rows){let list=el("dl");for(let[name,text]of rows)list.append(
el("dt",name),el("dd",text));return list}function showCard(rows,x,y){let card=document.getElementById("card");if(card.hidden=rows===null,rows===null)return;card.
replaceChildren(listOf(rows));let box=card.getBoundingClientRect();card.style.left=`${Math.max(4,Math.min(x+14,innerWidth-box.width-8))}px`,card.style.top=`${y+
18+box.height>innerHeight?Math.max(4,y-box.height-12):y+18}px`}function hideCard(){document.getElementById("card").hidden=!0}var Selection={pins:[]},MOST_PINS=12;function select(i){View.selected=i,drawPins(),i!==null&&View.point(Timeline.data.ops.t[i]/1e6),View.changed()}function pin(i){
Selection.pins=[i,...Selection.pins.filter(other=>other!==i)].slice(0,MOST_PINS),select(i)}function unpinAll(){Selection.pins=[],Timeline.focus=null,hideCard(),
select(null)}function unpin(i){Selection.pins=Selection.pins.filter(other=>other!==i),View.selected===i?select(null):(drawPins(),View.changed())}function drawPins(){
let{selected}=View,{pins}=Selection,host=document.getElementById("pinned"),cards=pins.map(i=>pinCard(i,"Unpin",()=>unpin(i)));selected!==null&&!pins.includes(selected)&&
cards.unshift(pinCard(selected,"Pin",()=>pin(selected))),pins.length>1&&cards.unshift(button("Unpin all (Escape)",unpinAll)),host.replaceChildren(...cards)}function pinCard(i,name,action){
let{data}=Timeline,culprit=data.violations.some(violation=>violation.suspects.includes(data.ops.i[i])),box=el("div","",`pin${i===View.selected?" chosen":""}${culprit?
" culprit":""}`);return box.append(listOf(describe(i)),button(name,action),button("Show",()=>reveal(i))),box}function reveal(i){let{data,canvas,row,rowHeight}=Timeline,
at=data.ops.t[i]/1e6,span=Math.min(View.to-View.from,Math.max(1,data.ops.d[i]/1e6*3));(at<View.from||at>View.to||View.to-View.from>20)&&View.set(at-span/2,at+span/
2);let host=canvas.parentElement,y=row[i]*rowHeight,box=host.getBoundingClientRect();(y<host.scrollTop||y>host.scrollTop+host.clientHeight-rowHeight)&&(host.scrollTop=
y-host.clientHeight/2),(box.bottom<120||box.top>innerHeight-120)&&document.getElementById("timeline").scrollIntoView(),select(i)}var Finding={last:null};function search(direction){let text=document.getElementById("f-search").value.trim(),again=Finding.last===text;Finding.last=text;let{name,
found,hidden,index,wrong}=lookFor(text);setHits(found),index!==void 0?revealIndex(index):found.length?revealMatch(found,direction,again,name):hidden?say(`${hidden.
toLocaleString("en")} ${name}, but the filters hide them all`):text&&say(wrong??"no match")}function markHits(){let{name,found,wrong}=lookFor(document.getElementById(
"f-search").value.trim());setHits(found),wrong?say(wrong):found.length&&say(`${found.length.toLocaleString("en")} ${name}`)}function stepHit(direction){let{hits}=Timeline;
hits.length?revealMatch(hits,direction,!0,"found"):say("no search, or no match")}function setHits(found){Timeline.hits=found;for(let id of["b-prev-hit","b-next-\
hit"])document.getElementById(id).hidden=!found.length;View.changed()}function lookFor(text){let nothing={name:"",found:[],hidden:0};if(!text)return nothing;if(/^#\d+$/.
test(text))return{...nothing,index:Number(text.slice(1))};if(isQuery(text))try{return{name:"by query",...matches(compile(text,Timeline.data))}}catch(error){return{
...nothing,wrong:error.message}}let word=text.toLowerCase();for(let[name,accepts]of[["by value",holding(word)],["by error",failingWith(word)]]){let both=matches(
accepts);if(both.found.length||both.hidden)return{name,...both}}return/^\d+$/.test(text)?{...nothing,index:Number(text)}:nothing}function matches(accepts){let{mask}=Timeline,
found=[],hidden=0;for(let i=0;i<mask.length;i++)accepts(i)&&(mask[i]?found.push(i):hidden++);return{found,hidden}}function revealMatch(found,direction,again,name){
let{ops}=Timeline.data,here=again&&View.selected!==null?View.selected:null,place=here===null?lowerBound(found,lowerBound(ops.t,View.from*1e6)):lowerBound(found,
direction>0?here+1:here)-(direction>0?0:1);place=(place+found.length)%found.length,reveal(found[place]),say(`${place+1} of ${found.length.toLocaleString("en")} ${name}`)}
function revealIndex(index){let{data,mask}=Timeline,{ops}=data,place=lowerBound(ops.i,index+1)-1;for(let i=place;i>=0&&i>place-5e3;i--)if(!(ops.i[i]!==index&&!(ops.
r[i]>=0&&ops.i[i]+ops.r[i]===index))){if(!mask[i]){say(`the operation with index ${index} does not pass the filters`);return}reveal(i),say("by index");return}say(
"no match")}function holding(text){let{ops,names}=Timeline.data,number=/^-?\d+$/.test(text)?Number(text):null,word=number===null?null:new RegExp(`(^|[^\\d.-])${text.
replace("-","\\-")}(?![\\d.])`),texts=names.texts.map(value=>word?word.test(value):value.toLowerCase().includes(text)),one=(kinds,first,second)=>i=>{let kind=kinds[i];
return kind===3?texts[first[i]]===!0:number!==null?kind===1&&first[i]===number||kind===2&&(first[i]===number||second[i]===number)||kind===4&&second[i]===number:
!1},asked=one(ops.vk,ops.va,ops.vb),answered=one(ops.qk,ops.qa,ops.qb);return i=>asked(i)||answered(i)}function failingWith(text){let{ops,names}=Timeline.data,codes=names.
e.map(error=>error.toLowerCase().includes(text));return i=>ops.e[i]>=0&&codes[ops.e[i]]}function step(direction,accepts){let{data,mask}=Timeline,count=data.ops.t.length,i=View.selected??(direction>0?lowerBound(data.ops.t,View.from*1e6)-1:lowerBound(
data.ops.t,View.to*1e6));for(i+=direction;i>=0&&i<count;i+=direction)if(mask[i]&&accepts(i))return reveal(i),say(""),!0;return say(direction>0?"none after this":
"none before this"),!1}function isError(i){return Timeline.data.ops.o[i]!==0}var MOST_PINNED=8;function pinnedOf(violation,members){if(members.length<=MOST_PINNED)
return members;let{ops}=Timeline.data,suspects=members.filter(i=>violation.suspects.includes(ops.i[i])),others=members.filter(i=>!suspects.includes(i)).sort((a,b)=>ops.
t[b]-ops.t[a]),chosen=[...suspects,...others].slice(0,MOST_PINNED);return members.filter(i=>chosen.includes(i))}function showViolation(place){let{data}=Timeline,
violation=data.violations[place],members=violation.ops.map(placeOfIndex).filter(i=>i>=0);if(!members.length){say("the page holds none of its operations");return}
let culprit=placeOfIndex(violation.culprit??-1),key=data.names.k.indexOf(violation.key??"");clearFilters(),document.getElementById("f-key").value=key<0?"":String(
key),applyFilters();let from=Math.min(...members.map(i=>data.ops.t[i]))/1e6,to=Math.max(...members.map(i=>endOf(data,i)))/1e6,room=(to-from)*.25+.005;View.set(from-
room,to+room),Timeline.focus=place,Selection.pins=pinnedOf(violation,members),reveal(culprit>=0?culprit:members.at(-1)),document.getElementById("timeline").scrollIntoView();
let only=key<0?"":`; only ${plainKey(violation.key)} is shown`,many=data.violations.length,least=data.least?"at least ":"",marked=data.violated>many?`${many} th\
at are marked, ${least}${data.violated} in all`:`${least}${many}`,pinned=Selection.pins.length<members.length?`; ${Selection.pins.length} of its ${members.length}\
 pinned`:"";say(`violation ${place+1} of ${marked}, ${violation.kind}${only}${pinned}`)}function stepViolation(direction){let many=Timeline.data.violations.length;
if(!many){say("no violation");return}showViolation(Timeline.focus===null?direction>0?0:many-1:(Timeline.focus+direction+many)%many)}var field=id=>document.getElementById(id),readSpan=text=>(text??"").split("-").map(Number),spanText=(from,to)=>`${from.toFixed(4)}-${to.toFixed(4)}`;function readHash(){
let parts=new URLSearchParams(location.hash.slice(1));if(!location.hash.includes("="))return;let[from,to]=readSpan(parts.get("t")),index=parts.get("index");index&&
field("progress-kind")&&(field("progress-kind").value=index,field("progress-kind").dispatchEvent(new Event("input"))),Timeline.data&&readTimeline(parts),parts.has(
"t")&&to>from&&View.set(from,to);let section=["violation","pins","op","q","rows","stretch",...FILTERS.map(([name])=>name)].some(name=>parts.has(name))?"timeline":
index&&field("chart-progress")?"chart-progress":"charts";field(section)?.scrollIntoView()}function readTimeline(parts){let rows=parts.get("rows");["process","no\
de","key"].includes(rows)&&(field("f-rows").value=rows,groupRows(rows));let violation=Number(parts.get("violation"))-1,known=Timeline.data.violations[violation]!==
void 0;known&&!parts.has("pins")&&showViolation(violation),known&&(Timeline.focus=violation);for(let[name,id]of FILTERS)parts.has(name)&&chooseFilter(id,parts.get(
name));applyFilters();let places=text=>(text??"").split(",").map(index=>index===""?-1:placeOfIndex(Number(index)));parts.has("pins")&&(Selection.pins=places(parts.
get("pins")).filter(i=>i>=0));let[chosen]=places(parts.get("op"));(chosen>=0||parts.has("pins"))&&select(chosen>=0?chosen:null),parts.has("q")&&(field("f-search").
value=parts.get("q"),markHits());let grouped=field("by-table");parts.has("by")&&(grouped.value=parts.get("by")),grouped.selectedIndex<0&&(grouped.selectedIndex=
0);let[from,to]=readSpan(parts.get("stretch"));to>from&&chooseRange([from,to])}function chooseFilter(id,text){let control=field(id);control.tagName!=="SELECT"?control.
value=text:control.value=[...control.options].find(one=>one.value===text||one.textContent===text)?.value??""}var hashTimer=0;function writeHash(){clearTimeout(hashTimer),
hashTimer=setTimeout(()=>{let text=new URLSearchParams(chosenParts()).toString().replaceAll("%2C",",");(text||location.hash.includes("="))&&history.replaceState(
null,"",text?`#${text}`:location.pathname+location.search)},200)}function*chosenParts(){let{data,by,focus,range}=Timeline;(View.from>0||View.to<View.end)&&(yield[
"t",spanText(View.from,View.to)]);let index=field("progress-kind")?.value;if(index&&index!=="applied"&&(yield["index",index]),!data)return;by&&by!=="process"&&(yield[
"rows",by]),focus!==null&&(yield["violation",String(focus+1)]);for(let[name,id]of FILTERS){let control=field(id);if(control.value==="")continue;yield[name,id===
"f-key"||id==="f-kind"?plainKey(control.selectedOptions[0].textContent):control.value]}field("f-search").value.trim()&&(yield["q",field("f-search").value.trim()]);
let indexes=Selection.pins.map(i=>data.ops.i[i]);(indexes.length||focus!==null)&&(yield["pins",indexes.join(",")]),View.selected!==null&&(yield["op",String(data.
ops.i[View.selected])]),range&&(yield["stretch",spanText(...range)]);let grouped=field("by-table");grouped.selectedIndex>0&&(yield["by",grouped.value])}function wireBackLinks(){for(let link of document.querySelectorAll("[data-in-site]")){let[test,run]=link.dataset.inSite.split("/"),names=location.pathname.split(
"/").slice(-4).map(decode);link.hidden=names[0]!=="runs"||names[1]!==test||names[2]!==run}}function decode(name){try{return decodeURIComponent(name)}catch{return name}}var GUTTER=64,MARGIN=24,Ink={},INKS="paper ink quiet rule mark link ok info fail ok-ink info-ink fail-ink run-a run-b".split(" ");function readInk(){let style=getComputedStyle(
document.documentElement);for(let name of INKS)Ink[name]=style.getPropertyValue(`--${name}`).trim();Ink.dark=luminance(Ink.paper)<.5,Ink.font=`12px ${style.getPropertyValue(
"--sans").trim()}`}function luminance(colour){let hex=colour.replace("#","");return(parseInt(hex.slice(0,2),16)*.3+parseInt(hex.slice(2,4),16)*.59+parseInt(hex.
slice(4,6),16)*.11)/255}function prepareCanvas(canvas,height){let width=Math.max(canvas.parentElement.clientWidth,120),ratio=window.devicePixelRatio||1;canvas.style.
height=`${height}px`,(canvas.width!==Math.round(width*ratio)||canvas.height!==Math.round(height*ratio))&&(canvas.width=Math.round(width*ratio),canvas.height=Math.
round(height*ratio));let context=canvas.getContext("2d");return context.setTransform(ratio,0,0,ratio,0,0),context.clearRect(0,0,width,height),context.font=Ink.font,
{context,width,height,left:GUTTER,right:width-MARGIN}}function scaleX(area,from,to){return seconds=>area.left+(seconds-from)/(to-from)*(area.right-area.left)}function niceStep(span,wanted){
let rough=span/wanted,power=10**Math.floor(Math.log10(rough));for(let factor of[1,2,2.5,5,10])if(factor*power>=rough)return factor*power;return 10*power}function timeText(seconds,step2){
let digits=0;for(;digits<6&&Math.abs(step2*10**digits-Math.round(step2*10**digits))>1e-6;)digits++;return seconds.toFixed(digits)}function timeTicks(width){let step2=niceStep(
View.to-View.from,Math.max(2,width/90)),ticks=[];for(let tick=Math.ceil(View.from/step2-1e-9)*step2;tick<=View.to+step2*1e-6;tick+=step2)ticks.push(tick);return ticks}
function drawTimeAxis(area,toX,y){let{context}=area,ticks=timeTicks(area.right-area.left),step2=ticks.length>1?ticks[1]-ticks[0]:1;context.fillStyle=Ink.quiet,context.
strokeStyle=Ink.rule,context.textAlign="center",context.textBaseline="top";for(let tick of ticks){let x=Math.round(toX(tick))+.5;context.beginPath(),context.moveTo(
x,y),context.lineTo(x,y+4),context.stroke();let text=timeText(tick,step2),half=context.measureText(text).width/2+1;context.fillText(text,Math.min(x,area.width-half),
y+6)}}function clip(context,text,width){if(width<12)return"";if(context.measureText(text).width<=width)return text;let low=0,high=text.length;for(;low<high;){let middle=low+
high+1>>1;context.measureText(`${text.slice(0,middle)}…`).width<=width?low=middle:high=middle-1}return low>0?`${text.slice(0,low)}…`:""}function cursorLine(host){
let line3=document.createElement("div");line3.setAttribute("aria-hidden","true"),Object.assign(line3.style,{position:"absolute",top:"0",bottom:"0",width:"0",borderLeft:"\
1px dashed var(--quiet)",pointerEvents:"none",display:"none"}),host.style.position="relative",host.append(line3);let place=seconds=>{let inside=seconds!==null&&
seconds>=View.from&&seconds<=View.to;line3.style.display=inside?"block":"none",inside&&(line3.style.left=`${scaleX({left:GUTTER,right:host.clientWidth-MARGIN},View.
from,View.to)(seconds)}px`)};View.cursorListeners.push(place),View.listeners.push(()=>place(View.cursor))}function followPointer(canvas,dragZoom){let secondsAt=event=>{
let box=canvas.getBoundingClientRect();return View.from+(event.clientX-box.left-GUTTER)/(box.width-GUTTER-MARGIN)*(View.to-View.from)},start2=null;return canvas.
addEventListener("pointermove",event=>View.point(secondsAt(event))),canvas.addEventListener("pointerleave",()=>View.point(null)),dragZoom&&(canvas.addEventListener(
"pointerdown",event=>{event.pointerType!=="touch"&&(start2=secondsAt(event),canvas.setPointerCapture(event.pointerId))}),canvas.addEventListener("pointerup",event=>{
let stop=secondsAt(event);start2!==null&&Math.abs(stop-start2)>(View.to-View.from)*.01&&View.set(Math.min(start2,stop),Math.max(start2,stop)),start2=null}),canvas.
addEventListener("dblclick",()=>View.whole())),secondsAt}function rowLabel(area,text,y){let{context}=area;context.fillStyle=Ink.quiet,context.textAlign="right",
context.textBaseline="middle",context.fillText(clip(context,text,GUTTER-12),area.left-8,y)}var NODE_DASHES=[[],[14,5],[7,5],[],[5,7]],NODE_WIDTHS=[5,4,3.25,2.5,
2.5];function strokeOf(place){return{width:NODE_WIDTHS[Math.min(place,NODE_WIDTHS.length-1)],dash:NODE_DASHES[place%NODE_DASHES.length]}}function epochAt({begins},place){return begins.findLast(([begin])=>begin<=place)??begins[0]}function indexOf(progress,place){if(place==null)return"–";let[begin,
first]=epochAt(progress,place);return`0x${(first+Math.round(place-begin)).toString(16)}`}function epochScale(progress){return{range:(_,low,high)=>[epochAt(progress,
low??0)[0],Math.max(high??0,1)*1.05]}}function epochTicks({begins,bits},low,high){let found=[],room=(high-low)/11,add=(place,text)=>{let near=found.some(([other])=>Math.
abs(other-place)<room);place>=low&&place<=high&&!near&&found.push([place,text])};for(let[begin,first]of begins)add(begin,`epoch ${Math.floor(first/2**bits)}`);let step2=1;
for(;(high-low)/step2>4;)step2*=2;return begins.forEach(([begin],i)=>{let end=begins[i+1]?.[0]??Number.POSITIVE_INFINITY;for(let counter=step2;begin+counter<Math.
min(end-room,high);counter+=step2)add(begin+counter,`+0x${counter.toString(16)}`)}),found.sort((a,b)=>a[0]-b[0])}function epochAxis(progress){return{splits:(_u,_axis,low,high)=>epochTicks(
progress,low,high).map(([place])=>place),values:(u,ticks)=>{let texts=new Map(epochTicks(progress,u.scales.y.min,u.scales.y.max));return ticks.map(tick=>texts.get(
tick)??"")}}}function drawBands(context,data,toX,left,right,top,height){context.save(),context.globalAlpha=Ink.dark?.26:.45;for(let fault of data.faults){if(fault.state==="s\
kipped")continue;let a=Math.max(toX(fault.start),left),b=Math.min(Math.max(toX(fault.end),a+1),right);if(b<=left||a>=right)continue;context.fillStyle=data.faultColours[fault.
family];let stood=Math.min(Math.max(toX(fault.stood??fault.start),a),b),heal=Math.min(Math.max(toX(fault.heal??fault.end),stood),b),full=context.globalAlpha,[low,
high]=fault.share??[0,1],[y,tall]=[top+low*height,(high-low)*height];context.fillRect(stood,y,Math.max(heal-stood,1),tall),context.globalAlpha=full/2,context.fillRect(
a,y,stood-a,tall),context.fillRect(heal,y,b-heal,tall),context.globalAlpha=full}drawStandstills(context,data,toX,left,right,top,height),context.restore()}function drawStandstills(context,data,toX,left,right,top,height){
context.fillStyle=Ink.quiet;for(let[from,to]of data.still??[]){let a=Math.max(toX(from),left);context.fillRect(a,top,Math.max(Math.min(Math.max(toX(to),a+1),right)-
a,0),height)}}function drawPhases(context,data,toX,left,right,top,height,ratio){context.save(),context.strokeStyle=Ink.quiet,context.lineWidth=ratio,context.setLineDash(
[2*ratio,3*ratio]);for(let phase of data.phases){let x=toX(phase.start);x<left||x>right||(context.beginPath(),context.moveTo(x,top),context.lineTo(x,top+height),
context.stroke())}context.restore()}function namePhases(context,data,toX,left,right,top,ratio){context.save(),context.fillStyle=Ink.quiet,context.strokeStyle=Ink.
paper,context.lineWidth=3*ratio,context.lineJoin="round",context.setLineDash([]),context.font=Ink.font.replace("12px",`${12*ratio}px`),context.textBaseline="top";
for(let{name,start:start2}of data.phases){let x=toX(start2),room=right-x>context.measureText(name).width+6*ratio;if(x<left||x>right)continue;let at=[x+(room?3:-3)*
ratio,top+(data.findings?.length||data.violations?.length?11:1)*ratio];context.textAlign=room?"left":"right",context.strokeText(name,...at),context.fillText(name,
...at)}context.restore()}function nameFaults(context,data,toX,left,right,bottom,ratio){context.save(),context.fillStyle=Ink.quiet,context.font=Ink.font.replace(
"12px",`${11*ratio}px`),context.textAlign="left",context.textBaseline="bottom";let free=left;for(let fault of[...data.faults].sort((a,b)=>a.start-b.start)){let from=Math.
max(toX(fault.start),free)+2*ratio,room=Math.min(toX(fault.end),right)-from,text=(fault.state==="installed"?[`#${fault.id} ${fault.fault}`,`#${fault.id}`]:[]).find(
one=>context.measureText(one).width<=room);text&&(context.fillText(text,from,bottom-2*ratio),free=from+context.measureText(text).width)}context.restore()}var BAR=2;
function drawViolationMarks(context,data,toX,left,right,top,height,ratio){context.save(),context.strokeStyle=Ink.mark,context.lineWidth=ratio,context.setLineDash(
[]);let marked=[...(data.further?.findings??[]).map(at=>[at,!0]),...(data.findings??[]).map(({at})=>[at,!0]),...(data.further?.violations??[]).map(at=>[at,!1]),
...(data.violations??[]).map(({at})=>[at,!1])];context.fillStyle=Ink.mark;for(let{at,until}of data.findings??[]){let[a,b]=[Math.max(toX(at),left),Math.min(toX(until??
at),right)];b>a&&context.fillRect(a,top,b-a,BAR*ratio)}for(let[at,hollow]of marked){let x=toX(at);x<left||x>right||(context.globalAlpha=.4,context.beginPath(),context.
moveTo(x,top),context.lineTo(x,top+height),context.stroke(),context.globalAlpha=1,triangle(context,x,top+(hollow?7:6)*ratio,4*ratio,hollow))}context.restore()}function dots(context,from,to,y){
context.fillStyle=Ink.quiet;for(let x=from;x<to;x+=5)context.fillRect(x,y-.5,Math.min(2,to-x),1)}function drawAvailable(context,value,colour,from,to,top,step2){
if(value!==1&&value!==2){dots(context,from,to,top+step2/2);return}context.fillStyle=value===1?colour:Ink["fail-ink"];let inset=value===1?5:3;context.fillRect(from,
top+inset,to-from,step2-2*inset)}function triangle(context,x,y,size,hollow=!1){context.beginPath(),context.moveTo(x,y),context.lineTo(x-size,y-size*1.5),context.
lineTo(x+size,y-size*1.5),context.closePath(),context.strokeStyle=Ink.paper,context.lineWidth=3,context.stroke(),context.fillStyle=hollow?Ink.paper:Ink.mark,context.
strokeStyle=Ink.mark,context.lineWidth=1.25,context.fill(),hollow&&context.stroke(),context.lineWidth=1}var HOLD_MS=450,STILL=8,Fingers={down:new Map};function severalFingers(){return Fingers.down.size>1}function wireTouch(element,secondsAt,read,moves){let hold=0,
pinch=null,span=()=>{let[a,b]=[...Fingers.down.values()];return{wide:Math.max(Math.abs(a.x-b.x),20),at:(a.at+b.at)/2}},forget=event=>{clearTimeout(hold),Fingers.
down.delete(event.pointerId),pinch=null};element.style.touchAction="pan-y",element.addEventListener("pointerdown",event=>{event.pointerType==="touch"&&(Fingers.
down.set(event.pointerId,{x:event.clientX,first:event.clientX,at:secondsAt(event)}),clearTimeout(hold),Fingers.down.size===1&&(hold=setTimeout(()=>{View.point(secondsAt(
event)),read(event)},HOLD_MS)),pinch=Fingers.down.size===2?{...span(),from:View.from,to:View.to}:null)}),element.addEventListener("pointermove",event=>{let finger=Fingers.
down.get(event.pointerId);if(!finger)return;let before=finger.x;if(finger.x=event.clientX,Math.abs(finger.x-finger.first)>STILL&&clearTimeout(hold),pinch){let factor=pinch.
wide/span().wide;View.set(pinch.at-(pinch.at-pinch.from)*factor,pinch.at+(pinch.to-pinch.at)*factor)}else moves&&Fingers.down.size===1&&View.move((before-finger.
x)/element.clientWidth*(View.to-View.from))});for(let name of["pointerup","pointercancel"])element.addEventListener(name,forget);element.addEventListener("conte\
xtmenu",event=>{event.pointerType==="touch"&&event.preventDefault()})}var Charts={plots:[],syncing:!1,onMark:null},MARKS_HEIGHT=16;function axes(options){return[{stroke:()=>Ink.quiet,grid:{show:!1},ticks:{stroke:()=>Ink.rule,size:4},
font:Ink.font,size:28,splits:u=>timeTicks(u.width-GUTTER-MARGIN),values:(_,ticks)=>ticks.map(tick=>timeText(tick,ticks.length>1?ticks[1]-ticks[0]:1))},{stroke:()=>Ink.
quiet,grid:{stroke:()=>Ink.rule,width:1},ticks:{show:!1},font:Ink.font,size:GUTTER,values:(_,ticks)=>ticks.map(tick=>figure(tick,Number.isInteger(tick)?0:1)),...options}]}
var stepAt=(u,_series,nearest2,at)=>nearest2>0&&u.data[0][nearest2]>at?nearest2-1:nearest2;function makePlot(data,id,height,series,values,more){let host=document.
getElementById(id),plot=new uPlot({width:Math.max(host.clientWidth,200),height,padding:[8,MARGIN,0,0],pxAlign:1,cursor:{sync:{key:"run",setSeries:!1},drag:{x:!0,
y:!1,setScale:!1},points:{show:!more.scatter},y:!!more.scatter,...more.stepped?{dataIdx:stepAt}:{}},scales:{x:{time:!1,range:()=>[View.from,View.to]},y:more.scale??
{range:(_,_low,high)=>[0,Math.max(high,1)*1.05]}},axes:axes(more.axis),series:[{label:"second",value:(_,v)=>v==null?"–":v.toFixed(2)},...series],legend:{show:!more.
scatter,live:!0},hooks:{drawClear:[u=>{let ratio=uPlot.pxRatio,context=u.ctx,{left,top,width,height:height2}=u.bbox,toX=seconds=>u.valToPos(seconds,"x",!0);(more.
background??drawBands)(context,data,toX,left,left+width,top,height2),drawPhases(context,data,toX,left,left+width,top,height2,ratio),more.scatter&&(context.save(),
more.scatter(u,context,ratio),context.restore())}],draw:[u=>{let{left,top,width,height:height2}=u.bbox,toX=seconds=>u.valToPos(seconds,"x",!0);nameFaults(u.ctx,
data,toX,left,left+width,top+height2,uPlot.pxRatio),namePhases(u.ctx,data,toX,left,left+width,top,uPlot.pxRatio),drawViolationMarks(u.ctx,data,toX,left,left+width,
top,height2,uPlot.pxRatio)}],setSelect:[u=>{u.select.width>4&&View.set(u.posToVal(u.select.left,"x"),u.posToVal(u.select.left+u.select.width,"x")),u.setSelect({
left:0,top:0,width:0,height:0},!1)}],setCursor:[u=>{Charts.syncing||!u.over.matches(":hover")||(Charts.syncing=!0,View.point(u.cursor.left>=0?u.posToVal(u.cursor.
left,"x"):null),Charts.syncing=!1)}]}},values,host);plot.over.addEventListener("click",event=>{let box=plot.over.getBoundingClientRect();event.clientY-box.top<=
MARKS_HEIGHT&&Charts.onMark?.(plot.posToVal(event.clientX-box.left,"x"),(View.to-View.from)/box.width)});let secondsAt=event=>plot.posToVal(event.clientX-plot.over.
getBoundingClientRect().left,"x");return wireTouch(plot.over,secondsAt,()=>{},!0),plot.over.addEventListener("dblclick",()=>View.whole()),plot.over.addEventListener(
"pointerleave",()=>View.point(null)),Charts.plots.push({plot,host,height}),drawKeys(plot),plot}function drawKeys(plot){plot.root.querySelectorAll(".u-legend .u-\
series").forEach((row,place)=>{let{stroke,dash,width}=plot.series[place],marker=row.querySelector(".u-marker");if(!marker||typeof stroke!="function")return;let picture=svg(
"svg",{viewBox:"0 0 28 10",class:"line-key","aria-hidden":"true"}),drawn=svg("line",{x1:0,x2:28,y1:5,y2:5,stroke:stroke(plot,place),"stroke-width":width,"stroke\
-dasharray":(dash??[]).join(" ")||"none"});picture.append(drawn),marker.replaceChildren(picture)})}function line(label,colour,more){return{label,stroke:colour,width:1.25,
points:{show:!1},spanGaps:!1,value:(_,v)=>figure(v,Number.isInteger(v)?0:1),...more}}function logScale(){return{distr:3,range:(_,low,high)=>[Math.max(10**Math.floor(
Math.log10(Math.max(low,.01))),.01),10**Math.ceil(Math.log10(Math.max(high,1.01)))]}}var LARGE=1e7,indexScale={range:(_,low,high)=>high>=LARGE?[low,Math.max(high,
low+1)]:[0,Math.max(high,1)*1.05]};function indexTexts(ticks){let known=ticks.filter(tick=>tick!==null);if(Math.max(0,...known)<LARGE)return{base:0,texts:ticks.
map(tick=>figure(tick,Number.isInteger(tick)?0:1))};if(known.every(tick=>tick%1e6===0))return{base:0,texts:ticks.map(tick=>`${figure(tick/1e6,0)} M`)};let base=Math.
floor(known[0]/1e6)*1e6;return{base,texts:ticks.map(tick=>`+${figure(tick-base,0)}`)}}var indexAxis={values:(u,ticks)=>{let{base,texts}=indexTexts(ticks),said=u.
root.closest(".chart")?.querySelector(".axis-base");return said&&(said.textContent=base?`, above ${figure(base,0)}`:""),texts}},decades=(_,ticks)=>ticks.map(tick=>Math.
abs(Math.log10(tick)%1)<1e-6?tick:null),logText=tick=>tick<1?String(tick):figure(tick,0),logAxis={filter:decades,grid:{stroke:()=>Ink.rule,width:1,filter:decades},
values:(_,ticks)=>ticks.map(tick=>Math.abs(Math.log10(tick)%1)<1e-6?logText(tick):null)};function shareView(){View.listeners.push(()=>{for(let{plot}of Charts.plots)
plot.setScale("x",{min:View.from,max:View.to})}),View.cursorListeners.push(seconds=>{if(!(Charts.syncing||!Charts.plots.length)){Charts.syncing=!0;for(let{plot}of Charts.
plots)plot.setCursor(seconds===null?{left:-10,top:-10}:{left:plot.valToPos(seconds,"x"),top:10},!1);Charts.syncing=!1}})}function resizeCharts(){for(let{plot,host,
height}of Charts.plots)plot.setSize({width:Math.max(host.clientWidth,200),height}),drawKeys(plot)}function initCharts(data){let{rates,quantiles,progress}=data;rates&&makePlot(data,"c-rate",170,OUTCOMES.map(name=>line(name,()=>Ink[`${name}-ink`],{dash:name===
"ok"?[]:name==="info"?[6,3]:[2,3],paths:uPlot.paths.stepped({align:1})})),[rates.time.map(t=>t-rates.width/2),...rates.rows],{stepped:!0}),quantiles&&makePlot(data,
"c-quantiles",170,quantiles.names.map((name,i)=>line(name,()=>Ink[i<4?"ok-ink":name==="event loop late"?"fail-ink":"info-ink"],{width:[2,1.25,1,1,1.25,1.25][i],
dash:name==="event loop late"?[2,6]:[[],[8,3],[4,3],[1,3],[10,3,2,3]][i]})),[quantiles.time,...quantiles.rows],{scale:logScale(),axis:logAxis}),progress&&progressCharts(
data,progress),hideEmpty(["c-rate","c-quantiles","c-applied","c-lag"]),shareView()}function progressCharts(data,progress){let series=more=>data.nodes.map((node,i)=>line(
node.name,()=>node.colour,{...strokeOf(i),paths:uPlot.paths.stepped({align:1}),...more})),rows=kind=>[progress.time,...progress[kind]],plot=progress.bits?makePlot(
data,"c-applied",190,series({value:(_,v)=>indexOf(progress,v)}),rows("applied"),{scale:epochScale(progress),axis:epochAxis(progress),stepped:!0}):makePlot(data,
"c-applied",190,series(),rows("applied"),{scale:indexScale,axis:indexAxis,stepped:!0});makePlot(data,"c-lag",150,series(),rows("lag"),{axis:indexAxis,stepped:!0}),
document.getElementById("progress-kind").addEventListener("input",event=>plot.setData(rows(event.target.value)))}function hideEmpty(ids){for(let id of ids){let host=document.
getElementById(id);host&&!host.firstChild&&(host.parentElement.hidden=!0)}}function addOptions(id,names,plain2){let select2=document.getElementById(id),shown=names.slice(0,2e3).map((name,code)=>[plain2?plainKey(name):name,code]);shown.
length<=500&&shown.sort((a,b)=>inOrder(a[0],b[0]));for(let[name,code]of shown)select2.append(option(String(code),name))}function filter(){applyFilters(),Timeline.
hits.length&&markHits()}function fillFilters(data){addOptions("f-key",data.names.k,!0),addOptions("f-kind",data.names.f,!1);let form=document.getElementById("fi\
lters"),on=(id,action)=>document.getElementById(id)?.addEventListener("click",action);form.addEventListener("submit",event=>{event.preventDefault(),search(1)});
for(let[,id]of FILTERS)document.getElementById(id).addEventListener("input",filter);document.getElementById("f-rows").addEventListener("input",event=>{groupRows(
event.target.value),View.changed()}),on("b-next",()=>step(1,isError)),on("b-prev",()=>step(-1,isError)),on("b-next-violation",()=>stepViolation(1)),on("b-prev-v\
iolation",()=>stepViolation(-1)),on("b-next-hit",()=>stepHit(1)),on("b-prev-hit",()=>stepHit(-1)),on("b-reset",()=>View.whole()),on("b-back",()=>View.back()),on(
"b-clear",()=>{clearFilters(),filter()});for(let id of["b-next-violation","b-prev-violation"])document.getElementById(id).hidden=!data.violations.length;document.
getElementById("f-search").addEventListener("keydown",event=>{event.key==="Enter"&&(event.preventDefault(),search(event.shiftKey?-1:1))})}function wireButtons(){
for(let id of["b-keys","b-close-keys"])document.getElementById(id).addEventListener("click",showKeys);for(let button2 of document.querySelectorAll(".copy"))button2.
addEventListener("click",async()=>{let text=button2.parentElement.querySelector("code").textContent;try{await navigator.clipboard.writeText(text),button2.textContent=
"Copied"}catch{getSelection().selectAllChildren(button2.parentElement.querySelector("code"))}});for(let button2 of document.querySelectorAll(".go"))button2.addEventListener(
"click",event=>{event.preventDefault(),go(button2)});for(let row of document.querySelectorAll(".faults tbody tr"))row.addEventListener("click",event=>{!event.target.
closest("button, a, summary, details")&&!String(getSelection())&&row.querySelector("button.go").click()})}function go(button2){let{from,to,violation,chart,index}=button2.
dataset,kind=document.getElementById("progress-kind");if(violation!==void 0&&Timeline.data){showViolation(Number(violation));return}View.set(Number(from),Number(
to)),index&&kind&&(kind.value=index,kind.dispatchEvent(new Event("input")));let shown=chart&&document.getElementById(chart);(shown&&!shown.hidden?shown:document.
getElementById("charts")).scrollIntoView()}function showKeys(){let keys=document.getElementById("keys");keys.open?keys.close():keys.showModal()}var Keys={n:()=>step(
1,isError),p:()=>step(-1,isError),v:()=>stepViolation(1),V:()=>stepViolation(-1),h:()=>stepHit(1),H:()=>stepHit(-1),b:()=>View.back(),0:()=>View.whole(),Home:()=>View.
whole(),"/":()=>{let box=document.getElementById("f-search");box.scrollIntoView({block:"center"}),box.focus()},"?":()=>showKeys(),Escape:()=>{unpinAll(),Timeline.
range=null,document.activeElement?.blur()}},TimelineKeys={...ViewKeys,Enter:()=>{View.selected!==null&&pin(View.selected)}};function wireKeys(){addEventListener(
"keydown",event=>{if(event.ctrlKey||event.metaKey||event.altKey||!(Timeline.data||event.key==="?")||document.getElementById("keys").open&&event.key!=="?"||event.
key!=="Escape"&&/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName))return;let action=Keys[event.key]??(event.target===Timeline.canvas?TimelineKeys[event.key]:
void 0);action&&(event.preventDefault(),action())})}function bytesOfBase64(text){if(Uint8Array.fromBase64)return Uint8Array.fromBase64(text);let raw=atob(text),bytes=new Uint8Array(raw.length);for(let i=0;i<raw.length;i++)
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
width}return"lane"in columns&&later(columns,"p",()=>processes(columns)),{ops:columns,...head.data}}var REACH=6;function markNear(data,seconds,perPixel){let marks=[...(data.violations??[]).map(({at},violation)=>({at,violation})),...(data.findings??[]).map(finding=>({
at:finding.at,finding}))],away=mark2=>Math.abs(mark2.at-seconds),best=marks.reduce((a,b)=>a&&away(a)<=away(b)?a:b,void 0);return best&&away(best)<=REACH*perPixel?
best:marks.findLast(({at,finding})=>finding&&at<=seconds&&seconds<=(finding.until??at))}function openEvidence({violation,finding,at}){if(finding){let section=[...document.
querySelectorAll(".invariant")].find(({dataset})=>dataset.check===finding.check);show(nearest([...section?.querySelectorAll("tr[data-at]")??[]],at)??section);return}
let article=document.querySelectorAll("article.violation")[violation];article?show(article):Timeline.data&&showViolation(violation)}function wireNext(){for(let link of document.
querySelectorAll(".next a, .headlines a"))link.addEventListener("click",event=>{let place=document.getElementById(link.hash.slice(1)),folds=link.dataset.at===void 0?
[]:[...place?.querySelectorAll("details[data-at]")??[]],target=nearest(folds,Number(link.dataset.at))??place?.closest(".violation");target&&(event.preventDefault(),
target.tagName==="DETAILS"&&(target.open=!0),show(target,"start"))})}function wireFolds(){for(let link of document.querySelectorAll('a[href^="#"]'))link.addEventListener(
"click",()=>{let fold=document.querySelector(`#${CSS.escape(link.hash.slice(1))} > details.body`);fold&&(fold.open=!0)})}function nearest(elements,at){return elements.
reduce((a,b)=>a&&Math.abs(a.dataset.at-at)<=Math.abs(b.dataset.at-at)?a:b,void 0)}function wireDrawings(){document.querySelectorAll("article.violation").forEach(
(article,violation)=>{for(let bar of article.querySelectorAll(".proof .op")){let i=placeOfIndex(Number(bar.dataset.index));i<0||(bar.classList.add("known"),bar.
addEventListener("pointermove",({clientX,clientY})=>showCard(describe(i),clientX,clientY)),bar.addEventListener("pointerleave",hideCard),bar.addEventListener("c\
lick",()=>{hideCard(),showViolation(violation),reveal(i)}))}})}function show(element,block="center"){if(element){for(let fold=element.closest("details");fold;fold=
fold.parentElement.closest("details"))fold.open=!0;for(let other of document.querySelectorAll(".shown"))other.classList.remove("shown");element.classList.add("s\
hown"),element.scrollIntoView({block})}}function wireFaults(data){let live=document.getElementById("live"),hot=null;live&&(live.calm=live.querySelector(".links").cloneNode(!0)),View.cursorListeners.push(
seconds=>{let fault=seconds===null?void 0:data.faults.find(f=>f.state==="installed"&&f.start<=seconds&&seconds<=f.end),id=fault?fault.id:null;if(live&&seconds!==
null&&showMoment(data,live,seconds,fault),id!==hot){hot=id;for(let element of document.querySelectorAll(".network[data-fault], .faults tbody tr"))element.classList.
toggle("hot",id!==null&&(element.dataset.fault===String(id)||element.id===`fault-${id}`))}})}function showMoment(data,live,seconds,fault){let shown=fault&&document.
querySelector(`.network[data-fault="${Number(fault.id)}"]`),id=shown?fault.id:-1,led=leaderAt(data,seconds);live.shown!==id&&(live.shown=id,live.querySelector("\
.links").replaceWith((shown?shown.querySelector(".links"):live.calm).cloneNode(!0)));let silences=fault?.family==="kill"||fault?.family==="pause";for(let node of live.
querySelectorAll(".node")){let name=node.dataset.node,struck=!!shown?.querySelector(`.node.struck[data-node="${CSS.escape(name)}"]`);node.classList.toggle("stru\
ck",struck&&!(silences&&answersAt(data,name,seconds))),node.classList.toggle("leader",led!==null&&name===led.node)}let leader=led?`leader ${led.node}${termText(
led.term)}`:"no leader",texts=[`${seconds.toFixed(2)} s`,...data.roles?[leader]:[],...fault?[fault.fault]:[]];document.getElementById("live-said").textContent=texts.
join(", ")}var FAULT_ROW=18;function layFaults(data,context,width,most=8){let right=width-MARGIN,toX=scaleX({left:GUTTER,right},0,data.end),rows=[];context.font=Ink.font;for(let fault of[
...data.faults].sort((a,b)=>a.start-b.start)){let text=faultText(context,fault,toX(fault.start),toX(fault.end),right),row=rows.find(row2=>row2.until<=text.from),
squeezed=!row&&rows.length>=most;squeezed&&(row=rows.reduce((best,other)=>other.until<best.until?other:best)),row||(row={bars:[],until:0},rows.push(row)),row.bars.
push({fault,squeezed}),row.until=Math.max(row.until,text.to)}return rows.map(({bars})=>bars)}function faultText(context,fault,a,b,right){let name=`#${fault.id} ${fault.
fault}${fault.state==="installed"?"":`, ${fault.state}`}`,wide=context.measureText(name).width;return wide<=b-a-6?{name,x:a+3,inside:!0,from:a,to:b}:b+wide+6<=right?
{name,x:b+3,from:a,to:b+wide+6}:a-wide-3>=GUTTER||b-a>right-b?{name,x:a-wide-3,from:a-wide-6,to:b}:{name:clip(context,name,right-b-6),x:b+3,from:a,to:right}}function drawFaultRow(data,area,toX,row,y){
let{context}=area;context.textAlign="left",context.textBaseline="middle";for(let{fault,squeezed}of row){let a=Math.max(toX(fault.start),area.left),b=Math.min(Math.
max(toX(fault.end),toX(fault.start)+2),area.right);if(b<=a)continue;context.fillStyle=Ink.paper,context.fillRect(a,y+1,b-a,FAULT_ROW-3),context.globalAlpha=fault.
state==="installed"?1:.4,context.fillStyle=data.faultColours[fault.family],context.fillRect(a,y+1,b-a,FAULT_ROW-3),context.globalAlpha=1;let text=faultText(context,
fault,a,b,area.right),cut=!text.inside&&(squeezed||text.x<area.left);context.fillStyle=fault.state==="installed"&&(text.inside||cut)?"#10151a":Ink.ink,context.fillText(
cut?clip(context,text.name,b-a-6):text.name,cut?a+3:text.x,y+FAULT_ROW/2)}}var CAPTION=18,RATE=64,LEADERS=20,LACKING=68,LABEL=13,AXIS=22,MOMENT=22,KEY=24,THIN=.7,MOST_FAULT_ROWS=4,NARROW=600,ROOM=3;function initOverview(data){let figure2=document.
getElementById("overview");if(!figure2)return;let canvas=figure2.querySelector("canvas"),draw=()=>drawOverview(data,figure2,canvas),secondsAt=event=>{let box=canvas.
getBoundingClientRect();return(event.clientX-box.left-GUTTER)/(box.width-GUTTER-MARGIN)*data.end};canvas.addEventListener("pointermove",event=>{let seconds=secondsAt(
event),inside=seconds>=0&&seconds<=data.end;Timeline.data&&showCard(inside?describeMoment(data,seconds):null,event.clientX,event.clientY)}),canvas.addEventListener(
"pointerleave",hideCard),canvas.addEventListener("click",event=>{hideCard(),View.set(secondsAt(event)-ROOM,secondsAt(event)+ROOM),document.getElementById("timel\
ine").scrollIntoView()}),View.listeners.push(draw),draw()}var leadersOf=data=>data.nodes.length>1?data.led??[]:[];function lackingOf(data){let kinds=[[["acknowl\
edged elements that the reads of each node lack","acknowledged elements, lacking"],data.lacking],[["committed entries that each node has not applied","entries n\
ot applied"],data.progress?.lag.map(row=>[data.progress.time,row])]],[names,rows]=kinds.find(([,rows2])=>rows2?.some(([,values])=>values.some(v=>v!==null)))??[];
if(!rows)return null;let most=rows.reduce((most2,[,values])=>Math.max(most2,highest(values)),0);return most?{names,rows,most}:null}var highest=values=>values.reduce(
(most,v)=>Math.max(most,v??0),0);function valueAt([times,values],seconds){let found=null;for(let i=0;i<times.length&&times[i]<=seconds;i++)values[i]!==null&&(found=
values[i]);return found}function describeMoment(data,seconds){let{rates}=data,bin=rates?Math.min(Math.floor(seconds/rates.width),rates.time.length-1):-1,led=leaderAt(
data,seconds),faults=data.faults.filter(f=>f.state==="installed"&&f.start<=seconds&&seconds<=f.end),lacking=lackingOf(data),behind=(lacking?.rows??[]).map((row,i)=>[
data.nodes[i].name,valueAt(row,seconds)]).filter(([,value])=>value);return[["at",`${seconds.toFixed(1)} s`],...rates?OUTCOMES.map((name,row)=>[`${name}, per sec\
ond`,figure(rates.rows[row][bin],0)]):[],...data.roles?[["leader",led?`${led.node}${termText(led.term)}`:"none"]]:[],...lacking?[[lacking.names.at(-1),behind.map(
([name,value])=>`${name} ${figure(value,0)}`).join(", ")||"none"]]:[],["fault",faults.map(f=>`#${f.id} ${f.fault}`).join(", ")||"none"]]}function drawOverview(data,host,canvas){
let width=host.clientWidth,toX=scaleX({left:GUTTER,right:width-MARGIN},0,data.end),faults=layFaults(data,canvas.getContext("2d"),width,width<NARROW?2*MOST_FAULT_ROWS:
MOST_FAULT_ROWS),lacking=lackingOf(data);lacking&&Object.assign(lacking,placeKeys(canvas.getContext("2d"),lacking,data.nodes,GUTTER,width-MARGIN));let top=faults.
length*FAULT_ROW+2,panels=top+placeMoments(host,width,toX,top)*MOMENT,bottom=panels+(data.rates?CAPTION+RATE:0)+(leadersOf(data).length?CAPTION+LEADERS:0)+(lacking?
CAPTION*(1+rowsOf(lacking.keys))+LACKING:0),area={...prepareCanvas(canvas,bottom+AXIS+LABEL+4),captions:[],keys:[],leaders:[]},{context}=area;faults.forEach((row,place)=>{
drawFaultRow(data,area,toX,row,place*FAULT_ROW)}),drawBands(context,data,toX,area.left,area.right,panels,bottom-panels),drawPhases(context,data,toX,area.left,area.
right,panels,bottom-panels,1);let y=panels;data.rates&&(y=drawRates(data,area,toX,y)),leadersOf(data).length&&(y=drawLeaders(data,area,toX,y)),lacking&&(y=drawLacking(
data,lacking,area,toX,y)),drawAxis(area,toX,bottom,data.end),namePhases2(data,area,toX,bottom+AXIS),context.strokeStyle=Ink.mark;for(let mark2 of host.querySelectorAll(
".moment")){let x=Math.round(toX(Number(mark2.dataset.at)))+.5;line2(context,x,mark2.offsetTop+mark2.offsetHeight,x,bottom)}writeCaptions(area),writeKeys(data,area),
writeLeaders(area)}function line2(context,fromX,fromY,toX,toY){context.beginPath(),context.moveTo(fromX,fromY),context.lineTo(toX,toY),context.stroke()}function placeMoments(host,width,toX,top){
let ends=[],marks=[...host.querySelectorAll(".moment")].sort((a,b)=>a.dataset.at-b.dataset.at);for(let mark2 of marks){let wide=mark2.offsetWidth,x=toX(Number(mark2.
dataset.at)),left=x+wide<=width?x:Math.max(x-wide,0),row=ends.findIndex(end=>end<=left);row<0&&(row=ends.length),ends[row]=left+wide+4,Object.assign(mark2.style,
{left:`${left}px`,top:`${top+row*MOMENT}px`})}return ends.length}function caption(area,texts,y){area.captions.push([texts,y+CAPTION/2])}function writeCaptions({
context,captions,left,right}){context.textAlign="left",context.textBaseline="middle";for(let[texts,y]of captions){let shown=texts.find(one=>context.measureText(
one).width<=right-left)??clip(context,texts.at(-1),right-left);context.fillStyle=Ink.paper,context.fillRect(left,y-LABEL/2,context.measureText(shown).width+2,LABEL),
context.fillStyle=Ink.quiet,context.fillText(shown,left,y)}}function writeLeaders({context,leaders}){context.textAlign="left",context.textBaseline="middle";for(let{
text,x,y,colour}of leaders)context.fillStyle=colour??Ink.paper,context.fillRect(x-1,y-LABEL/2,context.measureText(text).width+2,LABEL),context.fillStyle=colour===
null?Ink.ink:luminance(colour)>.5?"#000":"#fff",context.fillText(text,x,y)}function namePhases2({phases},{context,right},toX,y){context.fillStyle=Ink.quiet,context.
textBaseline="top",context.textAlign="left";let end=0;for(let{name,start:start2}of phases){let wide=context.measureText(`┊ ${name}`).width,beside=toX(start2)-
2+wide<=right,x=beside?toX(start2)-2:toX(start2)+2-wide;x<end||(context.fillText(beside?`┊ ${name}`:`${name} ┊`,x,y),end=x+wide+8)}}function axisOf(area,most,y,height){
let{context}=area;rowLabel(area,figure(most,0),y+5),rowLabel(area,"0",y+height-5),context.strokeStyle=Ink.rule,line2(context,area.left,y+height+.5,area.right,y+
height+.5)}function drawRates({rates},area,toX,y){let{context}=area,from=rates.time.map(time=>toX(time-rates.width/2)),sums=rates.time.map((_,i)=>rates.rows.reduce(
(sum,row)=>sum+row[i],0)),most=Math.max(highest(sums),1),wide=Math.max(toX(rates.width)-toX(0),1),seen=OUTCOMES.filter((_,row)=>rates.rows[row].some(v=>v>0));caption(
area,[`completions a second: ${seen.join(", ")}`,"completions a second"],y);let base=y+CAPTION+RATE,below=sums.map(()=>0);return OUTCOMES.forEach((name,row)=>{context.
fillStyle=name==="ok"?Ink.ok:Ink[`${name}-ink`],rates.rows[row].forEach((value,i)=>{let height=value/most*RATE;height>0&&context.fillRect(from[i],base-below[i]-
height,Math.min(wide,area.right-from[i]),height),below[i]+=height})}),axisOf(area,most,y+CAPTION,RATE),base}function drawLeaders(data,area,toX,y){let{context}=area;
caption(area,[data.led.some(([,term])=>term>=0)?"leader and term":"leader"],y);for(let[place,term,from,to]of data.led){let{name,colour}=data.nodes[place],a=toX(
from),b=Math.min(Math.max(toX(to),a+1.5),area.right),next=Math.min(...data.led.filter(([,,start2])=>start2>from).map(([,,start2])=>toX(start2)),area.right);context.
fillStyle=colour,context.fillRect(a,y+CAPTION,b-a,LEADERS-4);let middle=y+CAPTION+LEADERS/2-2,fits=room=>[`${name}${termText(term)}`,name].find(one=>context.measureText(
one).width<=room),[inside,after]=[fits(b-a-8),fits(next-b-8)];inside?area.leaders.push({text:inside,x:a+4,y:middle,colour}):after&&area.leaders.push({text:after,
x:b+4,y:middle,colour:null})}return y+CAPTION+LEADERS}function placeKeys(context,lacking,nodes,left,right){for(let name of lacking.names){let keys=keysAfter(context,
name,lacking.rows,nodes,left,right);if(!rowsOf(keys)||name===lacking.names.at(-1))return{caption:name,keys}}}function keysAfter(context,name,rows,nodes,left,right){
let keys=[],x=left+context.measureText(name).width+KEY,row=0;return rows.forEach(([,values],place)=>{let last=values.at(-1);if(!last)return;let text=`${nodes[place].
name} ${figure(last,0)}`,wide=KEY+context.measureText(text).width;x+wide>right&&([x,row]=[left,row+1]),keys.push({place,text,x,row}),x+=wide+KEY/2}),keys}var rowsOf=keys=>Math.
max(0,...keys.map(({row})=>row));function drawLacking(data,{caption:said,rows,most,keys},area,toX,y){let{context}=area,top=y+CAPTION*(1+rowsOf(keys)),toY=value=>top+
LACKING-value/Math.max(most,1)*(LACKING-4);return caption(area,[said],y),axisOf(area,most,top,LACKING),rows.forEach(([times,values],i)=>{strokeAs(context,data,i),
context.beginPath();let last=null;times.forEach((time,at)=>{let[x,value]=[toX(time),values[at]];last!==null&&context.lineTo(x,toY(last)),value===null?last=null:
(last===null?context.moveTo(x,toY(value)):context.lineTo(x,toY(value)),last=value)}),context.stroke()}),context.setLineDash([]),context.lineWidth=1,area.keys=keys.
map(key=>({...key,y:y+CAPTION*key.row+CAPTION/2})),top+LACKING}function strokeAs(context,data,place){let{width,dash}=strokeOf(place);context.strokeStyle=data.nodes[place].
colour,context.lineWidth=width*THIN,context.setLineDash(dash)}function writeKeys(data,{context,keys}){context.textAlign="left",context.textBaseline="middle";for(let{
place,text,x,y}of keys)context.fillStyle=Ink.paper,context.fillRect(x-2,y-LABEL/2,KEY+context.measureText(text).width+4,LABEL),strokeAs(context,data,place),line2(
context,x,y,x+KEY-4,y),context.fillStyle=Ink.ink,context.fillText(text,x+KEY,y);context.setLineDash([]),context.lineWidth=1}function drawAxis(area,toX,y,end){let{
context}=area,rough=end/Math.max(2,(area.right-area.left)/90),power=10**Math.floor(Math.log10(rough)),step2=[1,2,2.5,5,10].map(factor=>factor*power).find(one=>one>=
rough);context.fillStyle=Ink.quiet,context.textAlign="center",context.textBaseline="top";for(let tick=0;tick<=end*1.000001;tick+=step2)context.fillText(`${Number(
tick.toFixed(3))}${tick===0?" s":""}`,toX(tick),y+6)}function scatterChart(data){let{ops}=data,count=ops.t.length;if(!count){document.getElementById("c-scatter").parentElement.hidden=!0;return}let top=1,bottom=1/0;
for(let i=0;i<count;i++)ops.d[i]>0&&(top=Math.max(top,ops.d[i]),bottom=Math.min(bottom,ops.d[i]));let scale={distr:3,range:()=>[10**Math.floor(Math.log10(Math.max(
bottom/1e3,.01))),10**Math.ceil(Math.log10(Math.max(top/1e3,1.01)))]},plot=makePlot(data,"c-scatter",240,[{label:"latency",show:!0,points:{show:!1},paths:()=>null}],
[[0,View.end],[Math.max(bottom,10)/1e3,top/1e3]],{scale,axis:logAxis,scatter:(u,context,ratio)=>drawScatter(data,u,context,ratio)});scatterPointer(data,plot)}function scatterAt(data,u,x,y){
let{ops}=data,scale=(View.to-View.from)/u.over.clientWidth*1e6,at=View.from*1e6+x*scale,reach=8,yTop=Math.log10(u.scales.y.max),perPixel=(yTop-Math.log10(u.scales.
y.min))/u.over.clientHeight,best=-1,nearest2=reach*reach;for(let i=lowerBound(ops.t,at-reach*scale),last=lowerBound(ops.t,at+reach*scale);i<last;i++){if(ops.d[i]<
0)continue;let dx=(ops.t[i]-at)/scale,dy=(yTop-Math.log10(Math.max(ops.d[i],1)/1e3))/perPixel-y,away=dx*dx+dy*dy-BADNESS[ops.o[i]]*.1;away<nearest2&&(best=i,nearest2=
away)}return best}function scatterPointer(data,plot){let{over}=plot,at=event=>{let box=over.getBoundingClientRect();return scatterAt(data,plot,event.clientX-box.
left,event.clientY-box.top)},down=null;over.addEventListener("pointermove",event=>{let i=event.buttons?-1:at(event);over.style.cursor=i<0?"":"pointer",showCard(
i<0?null:describe(i),event.clientX,event.clientY)}),over.addEventListener("pointerdown",event=>{down=event.clientX}),over.addEventListener("pointerup",event=>{let i=down!==
null&&Math.abs(event.clientX-down)<=3?at(event):-1;down=null,i>=0&&(hideCard(),pin(i),reveal(i))}),over.addEventListener("pointerleave",hideCard)}function drawScatter(data,u,context,ratio){
let{ops}=data,box=u.bbox,first=lowerBound(ops.t,View.from*1e6),last=lowerBound(ops.t,View.to*1e6),yTop=Math.log10(u.scales.y.max),yBottom=Math.log10(u.scales.y.
min),across=box.width/((View.to-View.from)*1e6),start2=View.from*1e6,down=box.height/(yTop-yBottom);if(context.beginPath(),context.rect(box.left,box.top,box.width,
box.height),context.clip(),last-first>2e4){drawDense(ops,context,box,{start:start2,across,yTop,down},first,last,Math.max(2,Math.round(1.5*ratio)));return}let x=i=>box.
left+(ops.t[i]-start2)*across,y=i=>box.top+(yTop-Math.log10(Math.max(ops.d[i],1)/1e3))*down;for(let outcome of[0,2,1]){context.fillStyle=context.strokeStyle=Ink[OUTCOMES[outcome]+
(outcome?"-ink":"")],context.globalAlpha=outcome?1:.75,context.lineWidth=ratio;for(let i=first;i<last;i++)ops.o[i]===outcome&&ops.d[i]>=0&&mark(context,data.names.
f[ops.f[i]],outcome,x(i),y(i),2*ratio)}}function mark(context,kind,outcome,x,y,r){context.beginPath(),kind==="read"?context.arc(x,y,r,0,7):kind==="write"?context.
rect(x-r,y-r,2*r,2*r):(context.moveTo(x,y-r*1.3),context.lineTo(x+r*1.2,y+r),context.lineTo(x-r*1.2,y+r),context.closePath()),outcome===0?context.fill():context.
stroke()}function rowTable(yTop,down,cell){let rows=new Int32Array(2048);for(let place=0;place<rows.length;place++){let microseconds=2**(place>>6)*(1+((place&63)+
.5)/64);rows[place]=Math.floor((yTop-Math.log10(microseconds/1e3))*down/cell)}return rows}function drawDense(ops,context,box,{start:start2,across,yTop,down},first,last,cell){
let columns=Math.ceil(box.width/cell),rows=Math.ceil(box.height/cell),worst=new Uint8Array(columns*rows),many=new Uint16Array(columns*rows),{t,d,o}=ops,heights=rowTable(
yTop,down,cell),scale=across/cell;for(let i=first;i<last;i++){let took=d[i];if(took<0)continue;let octave=took<1?0:31-Math.clz32(took),cx=(t[i]-start2)*scale|0,
cy=heights[took<1?0:(octave<<6)+((octave>=6?took>>octave-6:took<<6-octave)&63)];if(cx<0||cy<0||cx>=columns||cy>=rows)continue;let place=cy*columns+cx,bad=BADNESS[o[i]];
bad>worst[place]&&(worst[place]=bad),many[place]<65535&&many[place]++}let colours=[null,Ink.ok,Ink["fail-ink"],Ink["info-ink"]];for(let bad=1;bad<=3;bad++){context.
fillStyle=colours[bad];for(let place=0;place<worst.length;place++)worst[place]===bad&&(context.globalAlpha=bad>1?1:Math.min(1,.35+many[place]/12),context.fillRect(
box.left+place%columns*cell,box.top+(place/columns|0)*cell,cell,cell))}}var LEVELS=["logged","warned","logged an error","its dispatcher"],ARROWS=["election","lost entries","cut its log"],[ELECTION,LOST]=[0,1],MOST_ARROWS=40,REACH2=5,
rowOf=(data,place)=>place<0?data.nodes.length:place;function hasHarnessLines(data){return!!data.track?.lines.some(([,place])=>place<0)}function drawTrack(data,area,toX,step2){
if(!data.track)return;let{context}=area,inks=[Ink.quiet,Ink["info-ink"],Ink.mark,Ink.link];for(let level of[0,3,1,2]){context.fillStyle=inks[level];for(let[seconds,
place,what]of data.track.lines){let x=toX(seconds);if(what!==level||x<area.left||x>area.right)continue;let tall=level===2?7:4;context.fillRect(x-.5,(rowOf(data,
place)+2)*step2-tall,1.5,tall)}}drawContested(data,area,toX,step2);let arrows=data.track.arrows.filter(([,seconds])=>seconds>=View.from&&seconds<=View.to);for(let[
kind,seconds,from,to]of arrows)drawArrow(area,toX(seconds),kind,arrows.length>MOST_ARROWS?null:from,to,step2)}function drawContested(data,area,toX,step2){let{context}=area;
context.fillStyle=Ink.mark;for(let[place,from,to]of data.track.contested){let a=Math.max(toX(from),area.left),b=Math.min(toX(to),area.right);if(!(b<a))for(let y of[
1,step2-3])context.fillRect(a,(place+1)*step2+y,Math.max(b-a,2),2)}}function drawArrow({context},x,kind,from,to,step2){let end=(to+1.5)*step2,up=from!==null&&from>
to,tip=end+(up?4:-4);context.save(),context.strokeStyle=context.fillStyle=kind===LOST?Ink.mark:kind===ELECTION?Ink.ink:Ink.quiet,context.lineWidth=1.25,from!==null&&
(context.setLineDash(kind===ELECTION?[]:[3,2]),context.beginPath(),context.moveTo(x,(from+1.5)*step2),context.lineTo(x,tip),context.stroke(),context.setLineDash(
[])),context.beginPath(),context.moveTo(x,end+(up?-2:2)),context.lineTo(x-4,end+(up?6:-6)),context.lineTo(x+4,end+(up?6:-6)),context.closePath(),context.fill(),
context.restore()}function eventsNear(data,row,seconds,perPixel){if(!data.track)return[];let near=at=>Math.abs(at-seconds)<=REACH2*perPixel,arrows=data.track.arrows.
filter(([,at,,to])=>to===row&&near(at)).map(([kind,at,,,text])=>[ARROWS[kind],`${text}, seen at ${at.toFixed(2)} s`]),contested=data.track.contested.filter(([place,
from,to])=>place===row&&from<=seconds&&seconds<=to).map(()=>["claim","another node said in the same round of probes that it leads"]),lines=data.track.lines.filter(
([at,place])=>rowOf(data,place)===row&&near(at)).sort((a,b)=>Math.abs(a[0]-seconds)-Math.abs(b[0]-seconds)).map(([,,level,text,times])=>[LEVELS[level],`${text}${times>
1?` (${times} times in its second)`:""}`]);return[...contested,...arrows,...lines].slice(0,6)}function initStrips(data){let canvas=document.getElementById("c-leaders");if(!data.stretches?.length&&!data.available){canvas.parentElement.hidden=!0;return}explain(
canvas.parentElement,data);let draw=()=>drawStrips(data,canvas);View.listeners.push(draw),stripPointer(data,canvas,followPointer(canvas,!0)),cursorLine(canvas.parentElement),
draw()}function explain(part,{track}){let lines=track?.lines??[],[levels,kinds]=[new Set(lines.map(([,,level])=>level)),new Set(track?.arrows.map(([kind])=>kind))],
show2=(selector,shown)=>{for(let one of part.querySelectorAll(selector))one.hidden=!shown(one.dataset)};show2("[data-track]",()=>lines.length),show2("[data-leve\
l]",({level})=>levels.has(Number(level))),show2("[data-harness]",()=>hasHarnessLines({track})),show2("[data-contested]",()=>track?.contested.length),show2("[dat\
a-arrow]",({arrow})=>kinds.has(Number(arrow)))}var STRIP_STEP=22,AVAILABILITY=["nothing was answered","some were answered ok","answered, but none ok"];function stripPointer(data,canvas,secondsAt){
let read=event=>{let box=canvas.getBoundingClientRect(),seconds=View.from+(event.clientX-box.left-GUTTER)/(box.width-GUTTER-MARGIN)*(View.to-View.from),place=Math.
floor((event.clientY-box.top)/STRIP_STEP)-1,perPixel=(View.to-View.from)/(box.width-GUTTER-MARGIN),outside=event.buttons||seconds<View.from||seconds>View.to;canvas.
style.cursor=markNear(data,seconds,perPixel)?"pointer":"",showCard(outside?null:stripRows(data,place,seconds,perPixel),event.clientX,event.clientY)};canvas.addEventListener(
"pointermove",read),wireTouch(canvas,secondsAt,event=>read({clientX:event.clientX,clientY:event.clientY}),!0);let down=null;canvas.addEventListener("pointerdown",
event=>{down=event.clientX}),canvas.addEventListener("click",event=>{if(down===null||Math.abs(event.clientX-down)>3)return;let box=canvas.getBoundingClientRect(),
perPixel=(View.to-View.from)/(box.width-GUTTER-MARGIN),mark2=markNear(data,View.from+(event.clientX-box.left-GUTTER)*perPixel,perPixel);mark2&&openEvidence(mark2)}),
canvas.addEventListener("pointerleave",hideCard)}function stripRows(data,place,seconds,perPixel){let at=["at",`${seconds.toFixed(2)} s`],fault=["fault",data.faults.
filter(f=>f.state==="installed"&&f.start<=seconds&&seconds<=f.end).map(f=>f.fault).join(", ")||"none"];if(place===-1)return data.available?[at,["operations",AVAILABILITY[data.
available[1][Math.floor(seconds/data.available[0])]]??"–"],fault]:null;let events=eventsNear(data,place,seconds,perPixel);if(place>=data.nodes.length)return events.
length?[at,...events]:null;let found=stretchAt(data,place,seconds);if(!found)return[at,["node",data.nodes[place].name],["role","was not probed"],...events];let[
role,term,from,to]=found;return[at,["node",data.nodes[place].name],["role",ROLE_NAMES[role]],...role>=4||term<0?[]:[["term",String(term)]],["from, to",`${from.toFixed(
2)} – ${to.toFixed(2)} s`],fault,...events]}function drawStrips(data,canvas){let rows=data.nodes,step2=STRIP_STEP,harness=hasHarnessLines(data)?1:0,height=(rows.
length+1+harness)*step2+26,area=prepareCanvas(canvas,height),{context}=area,toX=scaleX(area,View.from,View.to);drawBands(context,data,toX,area.left,area.right,0,
height-22),drawPhases(context,data,toX,area.left,area.right,0,height-22,1),context.textBaseline="middle",drawAvailability(data,area,toX,step2);for(let[place,node]of rows.
entries())drawRoles(area,toX,node,data.stretches[place],(place+1)*step2,step2);drawSnapshots(data,area,toX,step2),harness&&rowLabel(area,"harness",(rows.length+
1.5)*step2),drawTrack(data,area,toX,step2),drawViolationMarks(context,data,toX,area.left,area.right,0,height-22,1),drawTimeAxis(area,toX,height-22)}function drawAvailability(data,area,toX,step2){
if(rowLabel(area,"any ok",step2/2),!data.available)return;let[width,cells]=data.available,{context}=area;for(let start2=0;start2<cells.length;){let stop=start2+
1;for(;stop<cells.length&&cells[stop]===cells[start2];)stop++;let a=Math.max(toX(start2*width),area.left),b=Math.min(toX(stop*width),area.right);b>a&&drawAvailable(
context,cells[start2],Ink.ok,a,b,0,step2),start2=stop}}function drawRoles(area,toX,node,stretches,y,step2){let{context}=area,middle=y+step2/2;rowLabel(area,node.
name,middle);for(let[role,term,from,to]of stretches){let a=Math.max(toX(from),area.left),b=Math.min(toX(to),area.right);if(!(b<=a))if(context.fillStyle=node.colour,
role===0){context.fillRect(a,y+3,Math.max(b-a,1.5),step2-6),context.fillStyle=luminance(node.colour)>.5?"#000":"#fff",context.textAlign="left";let label=term<0?
"":clip(context,`term ${term}`,b-a-8);label&&!label.endsWith("…")&&context.fillText(label,a+4,middle)}else if(role===1)context.fillRect(a,middle-1,b-a,2);else if(role===
2)context.fillStyle=Ink.paper,context.strokeStyle=Ink.ink,context.fillRect(a,middle-4,Math.max(b-a,2),8),context.strokeRect(a+.5,middle-3.5,Math.max(b-a-1,1),7);else if(role===
3)context.fillStyle=Ink.quiet,context.fillRect(a,middle-.5,b-a,1);else if(role===5){context.fillStyle=Ink.mark;for(let x=a;x<b;x+=10)context.fillRect(x,middle-.5,
Math.min(6,b-x),1)}else dots(context,a,b,middle)}}function drawSnapshots(data,area,toX,step2){let{context}=area;for(let kind of[0,1,2])for(let[node,seconds,what]of data.
snapshots??[]){let x=toX(seconds),y=(node+1.5)*step2;if(!(what!==kind||x<area.left||x>area.right)){if(context.fillStyle=context.strokeStyle=Ink.ink,context.lineWidth=
1.25,context.beginPath(),what===0){context.moveTo(x,y+3),context.lineTo(x,y+step2/2-1),context.stroke();continue}context.moveTo(x,y-5),context.lineTo(x+5,y),context.
lineTo(x,y+5),context.lineTo(x-5,y),context.closePath(),what===1&&(context.fillStyle=Ink.paper),context.fill(),context.stroke()}}}var FIRST_ROWS=30,MORE_ROWS=500,TEXT_COLUMNS=["index","process","node","key","operation","outcome","invoked, s","completed, s","error"];function textFold(details,entries,member=()=>!1){
let host=details.querySelector(".text-rows"),refill=()=>{details.open&&fillText(host,entries(),FIRST_ROWS,member)};return details.addEventListener("toggle",refill),
refill}function rowsAround(entries,most,member){let members=entries.filter(member),others=entries.filter(entry=>!member(entry)),room=Math.max(most-members.length,
0),first=Math.max(others.filter(({at})=>at<=members.at(-1)?.at).length-room,0),kept=new Set(others.slice(first,first+room));return entries.filter(entry=>member(
entry)||kept.has(entry))}function fillText(host,entries,most,member){let table=document.createElement("table"),head=table.createTHead().insertRow(),body=table.createTBody();
table.className="text-table";for(let name of TEXT_COLUMNS){let cell=document.createElement("th");cell.scope="col",cell.textContent=name,head.append(cell)}for(let entry of rowsAround(
entries,most,member))body.append(entry.fault?faultRow(entry):operationRow(entry.i));let said=document.createElement("p");said.className="quiet small",said.textContent=
entries.length>most?`${most.toLocaleString("en")} of ${entries.length.toLocaleString("en")} rows, `+(entries.some(member)?"those of the violation and those that\
 lead up to its last. ":"the first. "):`${entries.length.toLocaleString("en")} row${entries.length===1?"":"s"}.`,entries.length>most&&said.append(button(`${MORE_ROWS}\
 more`,()=>fillText(host,entries,most+MORE_ROWS,member))),host.replaceChildren(table,said)}function operationRow(i){let{data}=Timeline,{ops}=data,row=document.createElement(
"tr"),key=plainKey(nameOf(data,"k",i)),index=button(String(ops.i[i]),()=>reveal(i));index.className="link",row.className=memberClass(data,ops.i[i]),row.insertCell().
append(index);for(let text of[String(ops.p[i]),nameOf(data,"n",i),key,boxLabel(i,!1),OUTCOMES[ops.o[i]],(ops.t[i]/1e6).toFixed(6),ops.d[i]<0?"never":((ops.t[i]+
ops.d[i])/1e6).toFixed(6),nameOf(data,"e",i)])row.insertCell().textContent=text;return row}function memberClass(data,index){let mine=data.violations.filter(({ops})=>ops.
includes(index));return mine.some(({suspects})=>suspects.includes(index))?"member culprit":mine.length?"member":""}function faultRow({fault,at,what}){let row=document.
createElement("tr");row.className="nemesis";for(let text of["","nemesis",fault.nodes.length===Timeline.data.nodes.length?"all":fault.nodes.join(" "),"",`#${fault.
id} ${fault.fault}`,what,at.toFixed(6),"",""])row.insertCell().textContent=text;return row}function entriesBetween(from,to,wanted){let{data,reach}=Timeline,{ops}=data,
found=[];for(let i=lowerBound(reach,from*1e6),last=lowerBound(ops.t,to*1e6+1);i<last;i++)endOf(data,i)>=from*1e6&&wanted(i)&&found.push({at:ops.t[i]/1e6,i});for(let fault of data.
faults)for(let[at,what]of fault.state==="installed"?[[fault.start,"begun"],[fault.end,fault.end<data.end?"healed":"not healed"]]:[[fault.start,fault.state]])at>=
from&&at<=to&&found.push({at,fault,what});return found.sort((a,b)=>a.at-b.at||(a.i??-1)-(b.i??-1))}function violationEntries(place,scope){let{data}=Timeline,{ops}=data,
violation=data.violations[place],code=data.names.k.indexOf(violation.key??""),culprit=placeOfIndex(violation.culprit??-1),members=(scope==="culprit"&&culprit>=0?
[culprit]:violation.ops.map(placeOfIndex)).filter(i=>i>=0),ofKey=i=>ops.k[i]===code;return scope==="all"||!members.length?entriesBetween(0,data.end,ofKey):entriesBetween(
Math.min(...members.map(i=>ops.t[i]))/1e6,Math.max(...members.map(i=>endOf(data,i)))/1e6,ofKey)}function ofViolation(place,i){let{data}=Timeline;return data.violations[place].
ops.includes(data.ops.i[i])}function initText(){for(let details of document.querySelectorAll("details.key-history")){let scope=details.querySelector("select");scope.
addEventListener("input",textFold(details,()=>violationEntries(Number(details.dataset.violation),scope.value),({i})=>i!==void 0&&ofViolation(details.dataset.violation,
i)))}let inView=document.getElementById("as-text");inView&&View.listeners.push(textFold(inView,()=>entriesBetween(View.from,View.to,i=>Timeline.mask[i])))}var ON_PAPER="#coverage details, details.excerpt, details.further, #words details, #faults details.costs, .checks td > details:not(.elements)";function wirePrint(redraw){
let root=document.documentElement,theme=null,opened=[],begin=()=>{if(theme===null){theme=root.dataset.theme??"",root.dataset.theme="light",root.classList.add("p\
aper"),opened=[...document.querySelectorAll(ON_PAPER)].filter(fold=>!fold.open);for(let fold of opened)fold.open=!0;drawNow(redraw)}},end=()=>{if(theme!==null){
theme?root.dataset.theme=theme:delete root.dataset.theme,theme=null,root.classList.remove("paper");for(let fold of opened)fold.open=!1;drawNow(redraw)}};addEventListener(
"beforeprint",begin),addEventListener("afterprint",end)}function drawNow(redraw){redraw();for(let listener of View.listeners)listener()}function wireTheme(redraw){wirePrint(redraw),document.getElementById("theme").addEventListener("click",()=>{let root=document.documentElement,dark=root.dataset.
theme?root.dataset.theme==="dark":matchMedia("(prefers-color-scheme: dark)").matches;root.dataset.theme=dark?"light":"dark",redraw()}),matchMedia("(prefers-colo\
r-scheme: dark)").addEventListener("change",redraw)}var HEIGHT=3;function drawHits(area,toX){let{data,hits,row,rows,rowHeight,reach}=Timeline,{context}=area;context.fillStyle=Ink.link;let first=lowerBound(reach,View.
from*1e6);for(let place=lowerBound(hits,first);place<hits.length;place++){let i=hits[place];if(data.ops.t[i]>View.to*1e6)break;if(row[i]>=rows.length)continue;let from=toX(
data.ops.t[i]/1e6),to=Math.max(toX(endOf(data,i)/1e6),from+2);context.fillRect(from,(row[i]+1)*rowHeight+1-HEIGHT,to-from,HEIGHT)}}function drawHitsOfAll(context,toX,height){
let{data,hits}=Timeline;context.fillStyle=Ink.link;let last=-1;for(let i of hits){let x=Math.round(toX(data.ops.t[i]/1e6));x!==last&&context.fillRect(x,height-5,
1.5,5),last=x}}function drawMinimap(){let canvas=document.getElementById("c-minimap"),{data}=Timeline,height=48,area=prepareCanvas(canvas,height),{context}=area,toX=scaleX(area,
0,View.end);context.save(),context.beginPath(),context.rect(area.left,0,area.right-area.left,height),context.clip(),drawBands(context,data,toX,area.left,area.right,
0,height),data.rates&&drawMinimapRates(data,context,toX,height),drawHitsOfAll(context,toX,height);let a=toX(View.from),b=Math.max(toX(View.to),a+3);context.fillStyle=
Ink.paper,context.globalAlpha=.62,context.fillRect(area.left,0,a-area.left,height),context.fillRect(b,0,area.right-b,height),context.globalAlpha=1,drawViolationMarks(
context,data,toX,area.left,area.right,0,height,1),context.strokeStyle=Ink.link,context.strokeRect(a+.5,.5,Math.max(b-a-1,2),height-1),context.restore()}function drawMinimapRates(data,context,toX,height){
let{time,width,rows}=data.rates,top=Math.max(1,...rows[0].map((v,i)=>v+rows[1][i]+rows[2][i]));time.forEach((middle,i)=>{let a=toX(middle-width/2),w=Math.max(toX(
Math.min(middle+width/2,View.end))-a,.75),y=height;[0,2,1].forEach(outcome=>{let h=rows[outcome][i]/top*(height-6);context.fillStyle=Ink[OUTCOMES[outcome]+(outcome?
"-ink":"")],context.fillRect(a,y-h,w,h),y-=h})})}function minimapPointer(canvas){let at=event=>{let box=canvas.getBoundingClientRect();return(event.clientX-box.
left-GUTTER)/(box.width-GUTTER-MARGIN)*View.end},held=null;canvas.addEventListener("pointerdown",event=>{canvas.setPointerCapture(event.pointerId);let seconds=at(
event),edge=View.end*8/canvas.clientWidth;if(Math.abs(seconds-View.from)<edge)held={edge:"from"};else if(Math.abs(seconds-View.to)<edge)held={edge:"to"};else{let span=View.
to-View.from;if(span>=View.end*.999){held={fresh:seconds};return}(seconds<View.from||seconds>View.to)&&View.set(seconds-span/2,seconds+span/2),held={grip:seconds-
View.from}}}),canvas.addEventListener("pointermove",event=>{if(!held)return;let seconds=at(event);if(held.edge==="from")View.set(Math.min(seconds,View.to-.001),
View.to);else if(held.edge==="to")View.set(View.from,Math.max(seconds,View.from+.001));else if(held.fresh!==void 0)Math.abs(seconds-held.fresh)>View.end/200&&View.
set(Math.min(seconds,held.fresh),Math.max(seconds,held.fresh));else{let span=View.to-View.from;View.set(seconds-held.grip,seconds-held.grip+span)}});for(let name of[
"pointerup","pointercancel"])canvas.addEventListener(name,()=>{held=null})}function tellHeld(data){if(!data.pyramid)return;let{total,held,errors,errorsHeld}=data.pyramid,count=number=>number.toLocaleString("en"),others=errorsHeld<errors?
`${count(errorsHeld)} of the ${count(errors)}`:`all ${count(errors)}`,text=`This page holds ${count(held)} of ${count(total)} operations: those of violations, ${others}\
 that are not ok, the slowest, and an even sample of the others. Rates, quantiles, tables of counts and the colours of the rows by client cover all operations; \
boxes, points, rows by node or key, filters, searches and the tables of what is in view cover only those that the page holds. harness export has them all.`,note=el(
"p",text,"quiet small");note.id="held",document.getElementById("timeline-scroll").before(note)}function applies(){return Timeline.data.pyramid&&Timeline.by==="p\
rocess"&&document.getElementById("b-clear").hidden}function eachBucket(columns,found){let{data,rows}=Timeline,{buckets}=data.pyramid,{worst}=data.ops,length=data.
end/buckets,scale=columns/(View.to-View.from),first=Math.max(Math.floor(View.from/length),0),last=Math.min(Math.ceil(View.to/length),buckets);for(let row=0;row<
rows.length;row++)for(let place=first;place<last;place++){let bad=worst[row*buckets+place];bad&&found(row,bad,(place*length-View.from)*scale,((place+1)*length-View.
from)*scale)}}function fillBins(bins,columns){!applies()||bucketPixels(columns)>2||eachBucket(columns,(row,bad,from,to)=>{let stop=Math.min(Math.max(Math.ceil(to),
Math.floor(from)+1),columns);for(let x=Math.max(Math.floor(from),0);x<stop;x++){let place=row*columns+x;bad>bins[place]&&(bins[place]=bad)}})}function drawBuckets(area,columns){
if(!applies()||bucketPixels(columns)<=2)return;let{context}=area,{rowHeight}=Timeline,colours=[null,Ink.ok,Ink["fail-ink"],Ink["info-ink"]];context.globalAlpha=
.22,eachBucket(columns,(row,bad,from,to)=>{let a=Math.max(from,0);context.fillStyle=colours[bad],context.fillRect(area.left+a,row*rowHeight+3,Math.min(to,columns)-
a,rowHeight-2)}),context.globalAlpha=1}function bucketPixels(columns){return Timeline.data.end/Timeline.data.pyramid.buckets/(View.to-View.from)*columns}var MOST_STEPS=12;function initTimeline(data){let canvas=document.getElementById("c-timeline");if(!data.ops.t.length){document.getElementById("timeline").hidden=
!0;return}Object.assign(Timeline,{data,canvas,mask:new Uint8Array(data.ops.t.length).fill(1),reach:reachOf(data),faultRows:[]}),groupRows("process"),tellHeld(data),
View.listeners.push(drawTimeline,drawMinimap),timelinePointer(canvas),minimapPointer(document.getElementById("c-minimap")),cursorLine(canvas.parentElement),drawTimeline(),
drawMinimap()}function drawTimeline(){let{data,canvas,rows,rowHeight}=Timeline,width=canvas.parentElement.clientWidth;Timeline.laidFor!==width&&Object.assign(Timeline,
{faultRows:layFaults(data,canvas.getContext("2d"),width),laidFor:width});let faults=Timeline.faultRows.length*FAULT_ROW,height=rows.length*rowHeight+faults+30,area=prepareCanvas(
canvas,height),{context}=area,toX=scaleX(area,View.from,View.to),bottom=rows.length*rowHeight+faults+4;drawBands(context,data,toX,area.left,area.right,0,bottom),
context.strokeStyle=Ink.rule,context.lineWidth=1,rows.forEach((row,place)=>{row.label&&(rowHeight>=11||place%Math.ceil(11/rowHeight)===0||row.first)&&rowLabel(area,
row.label,place*rowHeight+rowHeight/2+2),row.first&&place&&(context.beginPath(),context.moveTo(area.left,place*rowHeight+1.5),context.lineTo(area.right,place*rowHeight+
1.5),context.stroke())}),context.save(),context.beginPath(),context.rect(area.left,0,area.right-area.left,bottom),context.clip(),drawRange(context,toX,bottom),drawOperations(
area,toX);for(let[place,row]of Timeline.faultRows.entries())drawFaultRow(data,area,toX,row,bottom-faults+place*FAULT_ROW-1);context.restore(),faults&&rowLabel(area,
"faults",bottom-faults+FAULT_ROW/2),drawTimeAxis(area,toX,bottom)}function drawRange(context,toX,bottom){if(!Timeline.range)return;let[a,b]=Timeline.range.map(toX);
context.globalAlpha=.16,context.fillStyle=Ink.link,context.fillRect(a,0,b-a,bottom),context.globalAlpha=1}function drawOperations(area,toX){let{data,row,rows,mask}=Timeline,
{ops}=data,[first,last]=visibleRange(),columns=Math.ceil(area.right-area.left),bins=new Uint8Array(columns*rows.length);fillBins(bins,columns),drawBuckets(area,
columns);let wide=[],scale=(area.right-area.left)/((View.to-View.from)*1e6),offset=area.left-View.from*1e6*scale;for(let i=first;i<last;i++){if(!mask[i]||row[i]>=
rows.length)continue;let end=endOf(data,i);if((end-ops.t[i])*scale>=2){end*scale+offset>=area.left&&wide.push(i);continue}let x=ops.t[i]*scale+offset-area.left|
0;if(x<0||x>=columns)continue;let place=row[i]*columns+x;BADNESS[ops.o[i]]>bins[place]&&(bins[place]=BADNESS[ops.o[i]])}drawBins(area,bins,columns);for(let i of wide)
drawBox(area,i,ops.t[i]*scale+offset,endOf(data,i)*scale+offset);drawHits(area,toX),drawMarked(area,toX)}function drawBins(area,bins,columns){let{context}=area,
{rows,rowHeight}=Timeline,colours=[null,Ink.ok,Ink["fail-ink"],Ink["info-ink"]];for(let row=0;row<rows.length;row++)for(let x=0;x<columns;){let value=bins[row*columns+
x],stop=x+1;for(;stop<columns&&bins[row*columns+stop]===value;)stop++;value&&(context.fillStyle=colours[value],context.fillRect(area.left+x,row*rowHeight+3,stop-
x,rowHeight-2)),x=stop}}function drawBox(area,i,x0,x1){let{data,row,rowHeight}=Timeline,{ops}=data,{context}=area,outcome=ops.o[i],a=Math.max(x0,area.left-4),b=Math.
min(x1,area.right+4),y=row[i]*rowHeight+3,h=rowHeight-3,w=Math.max(b-a,1),name=OUTCOMES[outcome];if(outcome===2)context.strokeStyle=Ink["fail-ink"],context.strokeRect(
a+.5,y+.5,Math.max(w-1,1),h-1),w>6&&(context.beginPath(),context.moveTo(a,y+h),context.lineTo(a+Math.min(w,h),y),context.stroke());else if(context.fillStyle=Ink[name],
context.globalAlpha=outcome?.55:.85,context.fillRect(a,y,w,h),context.globalAlpha=1,context.fillStyle=Ink[`${name}-ink`],context.fillRect(a,y,1,h),outcome===1&&
w>8)for(let yy=y;yy<y+h;yy+=4)context.fillRect(b-1,yy,2,2);if(w>22&&rowHeight>=11){context.fillStyle=outcome===2||Ink.dark&&outcome?Ink.ink:"#10151a",context.textAlign=
"left",context.textBaseline="middle";let steps=stepsOf(i);steps?drawSteps(context,steps,a+3,a+w-2,y,h):context.fillText(clip(context,boxLabel(i),w-6),a+4,y+h/2+
.5)}}function drawSteps(context,steps,left,right,y,h){context.strokeStyle=context.fillStyle;let x=left;for(let{text,writes}of steps){let shown=clip(context,text,
right-x-6);if(!shown)return;let wide=context.measureText(shown).width+6;context.globalAlpha=writes?.18:.4,writes?context.fillRect(x,y+2,wide,h-4):context.strokeRect(
x+.5,y+2.5,wide-1,h-5),context.globalAlpha=1,context.fillText(shown,x+3,y+h/2+.5),x+=wide+3}}function drawMarked(area,toX){let{data,focus}=Timeline,{context}=area,
framed=new Map;data.violations.forEach(({ops},place)=>{for(let index of ops)framed.set(index,place===focus||framed.get(index)===!0)});for(let[index,focused]of framed){
let i=placeOfIndex(index);i<0||!Timeline.mask[i]||(context.globalAlpha=focus===null||focused?1:.45,outline(area,toX,i,Ink.mark,focused?2.5:focus===null?2:1),context.
globalAlpha=1,data.violations.some(({suspects},place)=>suspects.includes(index)&&(focus===null||place===focus))&&pointAt(area,toX,i))}View.selected!==null&&outline(
area,toX,View.selected,Ink.ink,1.5,2)}function outline(area,toX,i,colour,width,away=0){let{data,row,rows,rowHeight}=Timeline,{context}=area;if(row[i]>=rows.length)
return;let a=Math.max(toX(data.ops.t[i]/1e6),area.left-9),b=Math.min(Math.max(toX(endOf(data,i)/1e6),a+3),area.right+9);if(b<area.left||a>area.right)return;let box=[
a-1-away,row[i]*rowHeight+2-away,b-a+2+2*away,rowHeight-1+2*away];context.strokeStyle=Ink.paper,context.lineWidth=width+2,context.strokeRect(...box),context.strokeStyle=
colour,context.lineWidth=width,context.strokeRect(...box),context.lineWidth=1}function pointAt(area,toX,i){let{data,row,rowHeight}=Timeline,x=toX(data.ops.t[i]/
1e6)+1;x>=area.left-4&&x<=area.right&&triangle(area.context,x,row[i]*rowHeight+1,4)}function operationAt(x,y){let{data,canvas,row,rowHeight,mask}=Timeline,line3=Math.
floor((y-2)/rowHeight),width=canvas.clientWidth-GUTTER-MARGIN,span=(View.to-View.from)*1e6,slack=span/width*3,at=View.from*1e6+(x-GUTTER)/width*span,[first,last]=visibleRange(),
best=-1,distance=1/0;for(let i=first;i<last;i++){if(row[i]!==line3||!mask[i]||data.ops.t[i]>at+slack||endOf(data,i)<at-slack)continue;let away=Math.max(data.ops.
t[i]-at,at-endOf(data,i),0)-BADNESS[data.ops.o[i]]*.001;away<=distance&&(best=i,distance=away)}return best}function takesWheel(event,canvas){return event.shiftKey||
!(event.ctrlKey||document.activeElement===canvas)?!1:!(View.from<=View.start&&View.to>=View.end&&event.deltaY>0&&Math.abs(event.deltaY)>=Math.abs(event.deltaX))||
event.ctrlKey}function timelinePointer(canvas){let secondsAt=followPointer(canvas,!1),drag=null;canvas.addEventListener("wheel",event=>{takesWheel(event,canvas)&&
(event.preventDefault(),Math.abs(event.deltaX)>Math.abs(event.deltaY)?View.move(event.deltaX/canvas.clientWidth*(View.to-View.from)):View.zoom(Math.exp(Math.max(
-1,Math.min(1,event.deltaY/240))),secondsAt(event)))},{passive:!1});let read=event=>{let box=canvas.getBoundingClientRect(),i=operationAt(event.clientX-box.left,
event.clientY-box.top);showCard(i<0?null:describe(i,MOST_STEPS),event.clientX,event.clientY)};wireTouch(canvas,secondsAt,read,!1),canvas.addEventListener("point\
erdown",event=>{drag={x:event.clientX,from:View.from,to:View.to,moved:!1,at:event.shiftKey?secondsAt(event):null},canvas.setPointerCapture(event.pointerId)}),canvas.
addEventListener("pointermove",event=>{if(severalFingers()){drag=null;return}if(drag){let shift=(drag.x-event.clientX)/(canvas.clientWidth-GUTTER-MARGIN)*(drag.
to-drag.from);if(Math.abs(event.clientX-drag.x)>3&&(drag.moved=!0),!drag.moved)return;hideCard(),drag.at===null?View.set(drag.from+shift,drag.to+shift):chooseRange(
[drag.at,secondsAt(event)].sort((a,b)=>a-b));return}read(event)}),canvas.addEventListener("pointerup",event=>{if(drag&&!drag.moved){let box=canvas.getBoundingClientRect(),
i=operationAt(event.clientX-box.left,event.clientY-box.top);i>=0?pin(i):select(null)}drag=null}),canvas.addEventListener("pointercancel",()=>{drag=null}),canvas.
addEventListener("pointerleave",hideCard)}function redrawAll(){readInk(),resizeCharts(),Timeline.data&&View.changed()}function nothingToDraw(){let waiting=document.getElementById("waiting"),timeline=document.
getElementById("timeline");waiting&&(waiting.textContent="There is nothing to draw."),timeline&&(timeline.hidden=!0),document.documentElement.dataset.ready="yes"}
function redrawWhenResized(element){let width=element.clientWidth;new ResizeObserver(()=>{element.clientWidth!==width&&(width=element.clientWidth,redrawAll())}).
observe(element)}async function addOperations(data){document.readyState==="loading"&&await new Promise(done=>document.addEventListener("DOMContentLoaded",done,{
once:!0})),await new Promise(done=>setTimeout(done));let packed=document.getElementById("packed-operations");Object.assign(data,await unpack(packed.textContent)),
packed.remove(),initTimeline(data),scatterChart(data),Timeline.data&&(fillFilters(data),wireDrawings(),initText(),initRangeTable())}async function start(){wireTheme(
redrawAll),wireButtons(),wireNext(),wireFolds(),wireBackLinks(),readInk();let packed=document.getElementById("packed").textContent;if(!packed.trim()){nothingToDraw();
return}let data=await unpack(packed);document.getElementById("packed").remove(),View.reset(data.end),document.getElementById("waiting").hidden=!0;for(let id of[
"charts-body","beside"])document.getElementById(id)?.removeAttribute("hidden");initOverview(data),initCharts(data),initStrips(data),Charts.onMark=(seconds,perPixel)=>{
let mark2=markNear(data,seconds,perPixel);mark2&&openEvidence(mark2)},wireKeys(),wireFaults(data),redrawWhenResized(document.getElementById("charts")),performance.
mark("usable"),await addOperations(data),readHash(),addEventListener("hashchange",readHash),View.listeners.push(writeHash);for(let id of["progress-kind","by-tab\
le"])document.getElementById(id)?.addEventListener("input",writeHash);document.documentElement.dataset.ready="yes",performance.mark("complete")}window.page={applyFilters,
Charts,chooseRange,drawTimeline,endOf,GUTTER,groupRows,groupsIn,isError,lowerBound,MARGIN,placeOfIndex,Selection,search,select,step,Timeline,View};start().catch(
error=>{let place=document.getElementById("waiting")??document.querySelector(".sentence");place.hidden=!1,place.textContent=`The charts could not be drawn: ${error.
message}`,console.error(error)});})();
