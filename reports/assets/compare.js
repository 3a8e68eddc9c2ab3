(()=>{var View={from:0,to:1,start:0,end:1,cursor:null,selected:null,listeners:[],cursorListeners:[],pending:!1,past:[],changedAt:-1/0,reset(end,start=0){this.from=this.
start=start,this.to=this.end=end},set(from,to){let span=Math.min(Math.max(to-from,1e-4),this.end-this.start),start=Math.min(Math.max(from,this.start),this.end-span);
!Number.isFinite(start)||!Number.isFinite(span)||Math.abs(start-this.from)<1e-9&&Math.abs(start+span-this.to)<1e-9||(performance.now()-this.changedAt>400&&this.
past.push([this.from,this.to]),this.changedAt=performance.now(),this.from=start,this.to=start+span,this.changed())},back(){this.past.length&&([this.from,this.to]=
this.past.pop(),this.changedAt=-1/0,this.changed())},changed(){this.pending||(this.pending=!0,requestAnimationFrame(()=>{this.pending=!1;for(let listener of this.
listeners)listener()}))},whole(){this.set(this.start,this.end)},zoom(factor,at){this.set(at-(at-this.from)*factor,at+(this.to-at)*factor)},move(seconds){this.set(
this.from+seconds,this.to+seconds)},point(seconds){if(seconds!==this.cursor){this.cursor=seconds;for(let listener of this.cursorListeners)listener(seconds)}}},ViewKeys={
ArrowLeft:()=>View.move((View.from-View.to)/8),ArrowRight:()=>View.move((View.to-View.from)/8),"+":()=>View.zoom(1/1.5,(View.from+View.to)/2),"=":()=>View.zoom(
1/1.5,(View.from+View.to)/2),"-":()=>View.zoom(1.5,(View.from+View.to)/2),0:()=>View.whole(),Home:()=>View.whole()};var GUTTER=64,MARGIN=24,Ink={},INKS="paper ink quiet rule mark link ok info fail ok-ink info-ink fail-ink run-a run-b".split(" ");function readInk(){let style=getComputedStyle(
document.documentElement);for(let name of INKS)Ink[name]=style.getPropertyValue(`--${name}`).trim();Ink.dark=luminance(Ink.paper)<.5,Ink.font=`12px ${style.getPropertyValue(
"--sans").trim()}`}function luminance(colour){let hex=colour.replace("#","");return(parseInt(hex.slice(0,2),16)*.3+parseInt(hex.slice(2,4),16)*.59+parseInt(hex.
slice(4,6),16)*.11)/255}function prepareCanvas(canvas,height){let width=Math.max(canvas.parentElement.clientWidth,120),ratio=window.devicePixelRatio||1;canvas.style.
height=`${height}px`,(canvas.width!==Math.round(width*ratio)||canvas.height!==Math.round(height*ratio))&&(canvas.width=Math.round(width*ratio),canvas.height=Math.
round(height*ratio));let context=canvas.getContext("2d");return context.setTransform(ratio,0,0,ratio,0,0),context.clearRect(0,0,width,height),context.font=Ink.font,
{context,width,height,left:GUTTER,right:width-MARGIN}}function scaleX(area,from,to){return seconds=>area.left+(seconds-from)/(to-from)*(area.right-area.left)}function niceStep(span,wanted){
let rough=span/wanted,power=10**Math.floor(Math.log10(rough));for(let factor of[1,2,2.5,5,10])if(factor*power>=rough)return factor*power;return 10*power}function timeText(seconds,step){
let digits=0;for(;digits<6&&Math.abs(step*10**digits-Math.round(step*10**digits))>1e-6;)digits++;return seconds.toFixed(digits)}function timeTicks(width){let step=niceStep(
View.to-View.from,Math.max(2,width/90)),ticks=[];for(let tick=Math.ceil(View.from/step-1e-9)*step;tick<=View.to+step*1e-6;tick+=step)ticks.push(tick);return ticks}
function drawTimeAxis(area,toX,y){let{context}=area,ticks=timeTicks(area.right-area.left),step=ticks.length>1?ticks[1]-ticks[0]:1;context.fillStyle=Ink.quiet,context.
strokeStyle=Ink.rule,context.textAlign="center",context.textBaseline="top";for(let tick of ticks){let x=Math.round(toX(tick))+.5;context.beginPath(),context.moveTo(
x,y),context.lineTo(x,y+4),context.stroke();let text=timeText(tick,step),half=context.measureText(text).width/2+1;context.fillText(text,Math.min(x,area.width-half),
y+6)}}function clip(context,text,width){if(width<12)return"";if(context.measureText(text).width<=width)return text;let low=0,high=text.length;for(;low<high;){let middle=low+
high+1>>1;context.measureText(`${text.slice(0,middle)}…`).width<=width?low=middle:high=middle-1}return low>0?`${text.slice(0,low)}…`:""}function cursorLine(host){
let line2=document.createElement("div");line2.setAttribute("aria-hidden","true"),Object.assign(line2.style,{position:"absolute",top:"0",bottom:"0",width:"0",borderLeft:"\
1px dashed var(--quiet)",pointerEvents:"none",display:"none"}),host.style.position="relative",host.append(line2);let place=seconds=>{let inside=seconds!==null&&
seconds>=View.from&&seconds<=View.to;line2.style.display=inside?"block":"none",inside&&(line2.style.left=`${scaleX({left:GUTTER,right:host.clientWidth-MARGIN},View.
from,View.to)(seconds)}px`)};View.cursorListeners.push(place),View.listeners.push(()=>place(View.cursor))}function followPointer(canvas,dragZoom){let secondsAt=event=>{
let box=canvas.getBoundingClientRect();return View.from+(event.clientX-box.left-GUTTER)/(box.width-GUTTER-MARGIN)*(View.to-View.from)},start=null;return canvas.
addEventListener("pointermove",event=>View.point(secondsAt(event))),canvas.addEventListener("pointerleave",()=>View.point(null)),dragZoom&&(canvas.addEventListener(
"pointerdown",event=>{event.pointerType!=="touch"&&(start=secondsAt(event),canvas.setPointerCapture(event.pointerId))}),canvas.addEventListener("pointerup",event=>{
let stop=secondsAt(event);start!==null&&Math.abs(stop-start)>(View.to-View.from)*.01&&View.set(Math.min(start,stop),Math.max(start,stop)),start=null}),canvas.addEventListener(
"dblclick",()=>View.whole())),secondsAt}function rowLabel(area,text,y){let{context}=area;context.fillStyle=Ink.quiet,context.textAlign="right",context.textBaseline=
"middle",context.fillText(clip(context,text,GUTTER-12),area.left-8,y)}function bytesOfBase64(text){if(Uint8Array.fromBase64)return Uint8Array.fromBase64(text);let raw=atob(text),bytes=new Uint8Array(raw.length);for(let i=0;i<raw.length;i++)
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
let made=el("option",text);return made.value=value,made}function svg(name,attributes){let made=document.createElementNS("http://www.w3.org/2000/svg",name);for(let[
key,value]of Object.entries(attributes))made.setAttribute(key,value);return made}function drawBands(context,data,toX,left,right,top,height){context.save(),context.globalAlpha=Ink.dark?.26:.45;for(let fault of data.faults){if(fault.state==="s\
kipped")continue;let a=Math.max(toX(fault.start),left),b=Math.min(Math.max(toX(fault.end),a+1),right);if(b<=left||a>=right)continue;context.fillStyle=data.faultColours[fault.
family];let stood=Math.min(Math.max(toX(fault.stood??fault.start),a),b),heal=Math.min(Math.max(toX(fault.heal??fault.end),stood),b),full=context.globalAlpha,[low,
high]=fault.share??[0,1],[y,tall]=[top+low*height,(high-low)*height];context.fillRect(stood,y,Math.max(heal-stood,1),tall),context.globalAlpha=full/2,context.fillRect(
a,y,stood-a,tall),context.fillRect(heal,y,b-heal,tall),context.globalAlpha=full}drawStandstills(context,data,toX,left,right,top,height),context.restore()}function drawStandstills(context,data,toX,left,right,top,height){
context.fillStyle=Ink.quiet;for(let[from,to]of data.still??[]){let a=Math.max(toX(from),left);context.fillRect(a,top,Math.max(Math.min(Math.max(toX(to),a+1),right)-
a,0),height)}}function drawPhases(context,data,toX,left,right,top,height,ratio){context.save(),context.strokeStyle=Ink.quiet,context.lineWidth=ratio,context.setLineDash(
[2*ratio,3*ratio]);for(let phase of data.phases){let x=toX(phase.start);x<left||x>right||(context.beginPath(),context.moveTo(x,top),context.lineTo(x,top+height),
context.stroke())}context.restore()}function namePhases(context,data,toX,left,right,top,ratio){context.save(),context.fillStyle=Ink.quiet,context.strokeStyle=Ink.
paper,context.lineWidth=3*ratio,context.lineJoin="round",context.setLineDash([]),context.font=Ink.font.replace("12px",`${12*ratio}px`),context.textBaseline="top";
for(let{name,start}of data.phases){let x=toX(start),room=right-x>context.measureText(name).width+6*ratio;if(x<left||x>right)continue;let at=[x+(room?3:-3)*ratio,
top+(data.findings?.length||data.violations?.length?11:1)*ratio];context.textAlign=room?"left":"right",context.strokeText(name,...at),context.fillText(name,...at)}
context.restore()}function nameFaults(context,data,toX,left,right,bottom,ratio){context.save(),context.fillStyle=Ink.quiet,context.font=Ink.font.replace("12px",
`${11*ratio}px`),context.textAlign="left",context.textBaseline="bottom";let free=left;for(let fault of[...data.faults].sort((a,b)=>a.start-b.start)){let from=Math.
max(toX(fault.start),free)+2*ratio,room=Math.min(toX(fault.end),right)-from,text=(fault.state==="installed"?[`#${fault.id} ${fault.fault}`,`#${fault.id}`]:[]).find(
one=>context.measureText(one).width<=room);text&&(context.fillText(text,from,bottom-2*ratio),free=from+context.measureText(text).width)}context.restore()}var BAR=2;
function drawViolationMarks(context,data,toX,left,right,top,height,ratio){context.save(),context.strokeStyle=Ink.mark,context.lineWidth=ratio,context.setLineDash(
[]);let marked=[...(data.further?.findings??[]).map(at=>[at,!0]),...(data.findings??[]).map(({at})=>[at,!0]),...(data.further?.violations??[]).map(at=>[at,!1]),
...(data.violations??[]).map(({at})=>[at,!1])];context.fillStyle=Ink.mark;for(let{at,until}of data.findings??[]){let[a,b]=[Math.max(toX(at),left),Math.min(toX(until??
at),right)];b>a&&context.fillRect(a,top,b-a,BAR*ratio)}for(let[at,hollow]of marked){let x=toX(at);x<left||x>right||(context.globalAlpha=.4,context.beginPath(),context.
moveTo(x,top),context.lineTo(x,top+height),context.stroke(),context.globalAlpha=1,triangle(context,x,top+(hollow?7:6)*ratio,4*ratio,hollow))}context.restore()}function dots(context,from,to,y){
context.fillStyle=Ink.quiet;for(let x=from;x<to;x+=5)context.fillRect(x,y-.5,Math.min(2,to-x),1)}function drawAvailable(context,value,colour,from,to,top,step){if(value!==
1&&value!==2){dots(context,from,to,top+step/2);return}context.fillStyle=value===1?colour:Ink["fail-ink"];let inset=value===1?5:3;context.fillRect(from,top+inset,
to-from,step-2*inset)}function triangle(context,x,y,size,hollow=!1){context.beginPath(),context.moveTo(x,y),context.lineTo(x-size,y-size*1.5),context.lineTo(x+size,
y-size*1.5),context.closePath(),context.strokeStyle=Ink.paper,context.lineWidth=3,context.stroke(),context.fillStyle=hollow?Ink.paper:Ink.mark,context.strokeStyle=
Ink.mark,context.lineWidth=1.25,context.fill(),hollow&&context.stroke(),context.lineWidth=1}var HOLD_MS=450,STILL=8,Fingers={down:new Map};function wireTouch(element,secondsAt,read,moves){let hold=0,pinch=null,span=()=>{let[a,b]=[...Fingers.down.values()];return{wide:Math.max(Math.abs(a.x-b.x),20),
at:(a.at+b.at)/2}},forget=event=>{clearTimeout(hold),Fingers.down.delete(event.pointerId),pinch=null};element.style.touchAction="pan-y",element.addEventListener(
"pointerdown",event=>{event.pointerType==="touch"&&(Fingers.down.set(event.pointerId,{x:event.clientX,first:event.clientX,at:secondsAt(event)}),clearTimeout(hold),
Fingers.down.size===1&&(hold=setTimeout(()=>{View.point(secondsAt(event)),read(event)},HOLD_MS)),pinch=Fingers.down.size===2?{...span(),from:View.from,to:View.to}:
null)}),element.addEventListener("pointermove",event=>{let finger=Fingers.down.get(event.pointerId);if(!finger)return;let before=finger.x;if(finger.x=event.clientX,
Math.abs(finger.x-finger.first)>STILL&&clearTimeout(hold),pinch){let factor=pinch.wide/span().wide;View.set(pinch.at-(pinch.at-pinch.from)*factor,pinch.at+(pinch.
to-pinch.at)*factor)}else moves&&Fingers.down.size===1&&View.move((before-finger.x)/element.clientWidth*(View.to-View.from))});for(let name of["pointerup","poin\
tercancel"])element.addEventListener(name,forget);element.addEventListener("contextmenu",event=>{event.pointerType==="touch"&&event.preventDefault()})}var Charts={plots:[],syncing:!1,onMark:null},MARKS_HEIGHT=16;function axes(options){return[{stroke:()=>Ink.quiet,grid:{show:!1},ticks:{stroke:()=>Ink.rule,size:4},
font:Ink.font,size:28,splits:u=>timeTicks(u.width-GUTTER-MARGIN),values:(_,ticks)=>ticks.map(tick=>timeText(tick,ticks.length>1?ticks[1]-ticks[0]:1))},{stroke:()=>Ink.
quiet,grid:{stroke:()=>Ink.rule,width:1},ticks:{show:!1},font:Ink.font,size:GUTTER,values:(_,ticks)=>ticks.map(tick=>figure(tick,Number.isInteger(tick)?0:1)),...options}]}
var stepAt=(u,_series,nearest,at)=>nearest>0&&u.data[0][nearest]>at?nearest-1:nearest;function makePlot(data,id,height,series,values,more){let host=document.getElementById(
id),plot=new uPlot({width:Math.max(host.clientWidth,200),height,padding:[8,MARGIN,0,0],pxAlign:1,cursor:{sync:{key:"run",setSeries:!1},drag:{x:!0,y:!1,setScale:!1},
points:{show:!more.scatter},y:!!more.scatter,...more.stepped?{dataIdx:stepAt}:{}},scales:{x:{time:!1,range:()=>[View.from,View.to]},y:more.scale??{range:(_,_low,high)=>[
0,Math.max(high,1)*1.05]}},axes:axes(more.axis),series:[{label:"second",value:(_,v)=>v==null?"–":v.toFixed(2)},...series],legend:{show:!more.scatter,live:!0},
hooks:{drawClear:[u=>{let ratio=uPlot.pxRatio,context=u.ctx,{left,top,width,height:height2}=u.bbox,toX=seconds=>u.valToPos(seconds,"x",!0);(more.background??drawBands)(
context,data,toX,left,left+width,top,height2),drawPhases(context,data,toX,left,left+width,top,height2,ratio),more.scatter&&(context.save(),more.scatter(u,context,
ratio),context.restore())}],draw:[u=>{let{left,top,width,height:height2}=u.bbox,toX=seconds=>u.valToPos(seconds,"x",!0);nameFaults(u.ctx,data,toX,left,left+width,
top+height2,uPlot.pxRatio),namePhases(u.ctx,data,toX,left,left+width,top,uPlot.pxRatio),drawViolationMarks(u.ctx,data,toX,left,left+width,top,height2,uPlot.pxRatio)}],
setSelect:[u=>{u.select.width>4&&View.set(u.posToVal(u.select.left,"x"),u.posToVal(u.select.left+u.select.width,"x")),u.setSelect({left:0,top:0,width:0,height:0},
!1)}],setCursor:[u=>{Charts.syncing||!u.over.matches(":hover")||(Charts.syncing=!0,View.point(u.cursor.left>=0?u.posToVal(u.cursor.left,"x"):null),Charts.syncing=
!1)}]}},values,host);plot.over.addEventListener("click",event=>{let box=plot.over.getBoundingClientRect();event.clientY-box.top<=MARKS_HEIGHT&&Charts.onMark?.(plot.
posToVal(event.clientX-box.left,"x"),(View.to-View.from)/box.width)});let secondsAt=event=>plot.posToVal(event.clientX-plot.over.getBoundingClientRect().left,"x");
return wireTouch(plot.over,secondsAt,()=>{},!0),plot.over.addEventListener("dblclick",()=>View.whole()),plot.over.addEventListener("pointerleave",()=>View.point(
null)),Charts.plots.push({plot,host,height}),drawKeys(plot),plot}function drawKeys(plot){plot.root.querySelectorAll(".u-legend .u-series").forEach((row,place)=>{
let{stroke,dash,width}=plot.series[place],marker=row.querySelector(".u-marker");if(!marker||typeof stroke!="function")return;let picture=svg("svg",{viewBox:"0 0\
 28 10",class:"line-key","aria-hidden":"true"}),drawn=svg("line",{x1:0,x2:28,y1:5,y2:5,stroke:stroke(plot,place),"stroke-width":width,"stroke-dasharray":(dash??
[]).join(" ")||"none"});picture.append(drawn),marker.replaceChildren(picture)})}function line(label,colour,more){return{label,stroke:colour,width:1.25,points:{show:!1},
spanGaps:!1,value:(_,v)=>figure(v,Number.isInteger(v)?0:1),...more}}function logScale(){return{distr:3,range:(_,low,high)=>[Math.max(10**Math.floor(Math.log10(Math.
max(low,.01))),.01),10**Math.ceil(Math.log10(Math.max(high,1.01)))]}}var decades=(_,ticks)=>ticks.map(tick=>Math.abs(Math.log10(tick)%1)<1e-6?tick:null),logText=tick=>tick<1?String(tick):figure(tick,0),logAxis={filter:decades,grid:{
stroke:()=>Ink.rule,width:1,filter:decades},values:(_,ticks)=>ticks.map(tick=>Math.abs(Math.log10(tick)%1)<1e-6?logText(tick):null)};function shareView(){View.listeners.
push(()=>{for(let{plot}of Charts.plots)plot.setScale("x",{min:View.from,max:View.to})}),View.cursorListeners.push(seconds=>{if(!(Charts.syncing||!Charts.plots.length)){
Charts.syncing=!0;for(let{plot}of Charts.plots)plot.setCursor(seconds===null?{left:-10,top:-10}:{left:plot.valToPos(seconds,"x"),top:10},!1);Charts.syncing=!1}})}
function resizeCharts(){for(let{plot,host,height}of Charts.plots)plot.setSize({width:Math.max(host.clientWidth,200),height}),drawKeys(plot)}var[WIDEST,HEIGHT,LEFT,RIGHT,TOP,BOTTOM]=[760,220,64,16,8,28],SHORTEST=20;function drawRecovery(a,b){let host=document.getElementById("c-recovery"),every=Object.
entries({a,b}).map(([letter,run])=>({letter,curve:run.curves?.recovery})),drawn=every.filter(({curve})=>curve?.faults),many=curve=>curve?.faults?`${curve.faults}\
 fault${curve.faults>1?"s":""}`:curve?.why??"no operations could be read",said=every.map(({letter,curve})=>`${letter.toUpperCase()}: ${many(curve)}`).join("; ");
if(!drawn.length){host.replaceChildren(el("p",`Nothing to draw. ${said}.`,"quiet"));return}let width=Math.min(host.clientWidth||WIDEST,WIDEST),last=Math.max(...drawn.
map(({curve})=>curve.share.findLastIndex(v=>v!==null))),time=drawn[0].curve.time.slice(0,Math.max(last+1,SHORTEST)),top=Math.max(1.25,...drawn.flatMap(({curve})=>curve.
share.map(v=>v??0))),x=seconds=>LEFT+(seconds-time[0])/(time.at(-1)-time[0])*(width-LEFT-RIGHT),y=share=>HEIGHT-BOTTOM-share/top*(HEIGHT-TOP-BOTTOM),picture=svg(
"svg",{viewBox:`0 0 ${width} ${HEIGHT}`,width,height:HEIGHT,class:"recovery",role:"img"});picture.setAttribute("aria-label","Share of the rate before, around th\
e heals of both runs");let write=(content,attributes)=>{let made=svg("text",attributes);made.textContent=content,picture.append(made)};for(let share of[0,.5,1])
picture.append(svg("line",{class:"grid",x1:LEFT,x2:width-RIGHT,y1:y(share),y2:y(share)})),write(`${share*100} %`,{x:LEFT-8,y:y(share)+4,"text-anchor":"end"});for(let tick=Math.
ceil(time[0]/5)*5;tick<=time.at(-1);tick+=5)write(String(tick),{x:x(tick),y:HEIGHT-8,"text-anchor":"middle"});picture.append(svg("line",{class:"heal",x1:x(0),x2:x(
0),y1:TOP,y2:HEIGHT-BOTTOM}));for(let{letter,curve}of drawn){let path="";curve.share.forEach((share,i)=>{share!==null&&(path+=`${path&&curve.share[i-1]!==null?"\
L":"M"}${x(time[i])} ${y(share)}`)}),picture.append(svg("path",{class:`run-${letter}`,d:path}))}let text=`${said}; A solid, B dashed; a curve ends at the next f\
ault or at the end of the load.`;host.replaceChildren(picture,el("p",text,"quiet small"))}var ON_PAPER="#coverage details, details.excerpt, details.further, #words details, #faults details.costs, .checks td > details:not(.elements)";function wirePrint(redraw){
let root=document.documentElement,theme=null,opened=[],begin=()=>{if(theme===null){theme=root.dataset.theme??"",root.dataset.theme="light",root.classList.add("p\
aper"),opened=[...document.querySelectorAll(ON_PAPER)].filter(fold=>!fold.open);for(let fold of opened)fold.open=!0;drawNow(redraw)}},end=()=>{if(theme!==null){
theme?root.dataset.theme=theme:delete root.dataset.theme,theme=null,root.classList.remove("paper");for(let fold of opened)fold.open=!1;drawNow(redraw)}};addEventListener(
"beforeprint",begin),addEventListener("afterprint",end)}function drawNow(redraw){redraw();for(let listener of View.listeners)listener()}function wireTheme(redraw){wirePrint(redraw),document.getElementById("theme").addEventListener("click",()=>{let root=document.documentElement,dark=root.dataset.
theme?root.dataset.theme==="dark":matchMedia("(prefers-color-scheme: dark)").matches;root.dataset.theme=dark?"light":"dark",redraw()}),matchMedia("(prefers-colo\
r-scheme: dark)").addEventListener("change",redraw)}var Compare={data:null,a:null,b:null},FIGURES=[["rate","ok/s",1,1],["gap_s","longest gap, s",2,-1],["recovery_s","rate back, worst, s",2,-1],["never","faults af\
ter which the rate was not back",0,-1],["violations","violations",0,-1],["operations","operations",0,0],["length_s","length, s",1,0]],FACTS=["test","run","start\
ed","nemesis","version","options","seed"];function tableOf(id,heads,rows,labelled){let head=el("tr"),thead=el("thead"),body=el("tbody");for(let[text,className]of heads){
let cell=el("th",text,className);cell.scope="col",head.append(cell)}thead.append(head);for(let{cells,differs}of rows){let line2=el("tr",void 0,differs?"differs":
"");cells.forEach(([text,className],place)=>{let cell=el(place?"td":"th",text,className);place||(cell.scope="row"),labelled&&place&&text&&(cell.dataset.label=heads[place][0]),
line2.append(cell)}),body.append(line2)}document.getElementById(id).replaceChildren(thead,body)}function verdictCard(letter,run){let card=el("section",void 0,"v\
ersus-run"),head=el("h2"),list=el("dl",void 0,"facts"),link=el("a","report");head.append(el("span",letter.toUpperCase(),`letter ${letter}`),document.createTextNode(
" "),el("span",run.verdict,`verdict ${run.verdict.replace(" ","-")}`));for(let name of FACTS){let box=el("div");box.append(el("dt",name),el("dd",String(run[name]||
"–"),"mono")),list.append(box)}if(link.href=run.href,link.textContent=run.href.endsWith("report.html")?"Report":"Files",card.append(head,el("p",run.sentence,"\
statement"),list),run.curves?.command){let command=el("div",void 0,"command"),[title,text]=run.curves.command;command.append(el("span",title,"label"),el("code",
text)),card.append(command)}return card.append(link),card}function least(run,name){return name==="violations"&&run.least?"at least ":""}function drawTables(a,b){
document.getElementById("cmp-verdicts").replaceChildren(verdictCard("a",a),verdictCard("b",b)),tableOf("cmp-figures",[["",""],["A","num"],["B","num"],["B less A",
"num"],["","num"]],FIGURES.map(([name,title,digits,better])=>{let[x,y]=[a[name],b[name]],known=typeof x=="number"&&typeof y=="number",change=known?Number((y-x).
toFixed(digits))+0:null,share=change&&x?`${change>0?"+":""}${(change/x*100).toFixed(0)} %`:"",worse=known&&better&&change*better<0;return{differs:known?change!==
0:x!==y,cells:[[title],[least(a,name)+figure(x,digits),"num"],[least(b,name)+figure(y,digits),"num"],[known?(change>0?"+":"")+figure(change,digits):"–",`num${worse?
" red":""}`],[share,"num quiet"]]}}));let names=[...new Set([...a.checks,...b.checks].map(([name])=>name))],said=(run,name)=>(run.checks.find(([other])=>other===
name)??["","–"])[1];tableOf("cmp-checks",[["check or gate"],["A"],["B"]],names.map(name=>{let[x,y]=[said(a,name),said(b,name)];return{differs:x!==y,cells:[[name],
[x,`verdict ${x}`],[y,`verdict ${y}`]]}})),drawFaultTable(a.curves?.faults??[],b.curves?.faults??[])}function drawFaultTable(a,b){let heads=[["#","num"],["fault\
 of A","line"],["nodes"],["begun s","num"],["gap s","num"],["rate back ms","num"],["fault of B","line"],["nodes"],["begun s","num"],["gap s","num"],["rate back \
ms","num"]],cellsOf=fault=>fault?[[fault.state==="installed"?fault.fault:`${fault.fault} (${fault.state})`,"line"],[fault.nodes.join(" "),"nowrap"],[figure(fault.
start,1),"num"],[figure(fault.gap_s,2),"num"],[fault.back,`num${fault.back==="never"?" red strong":""}`]]:[["–","line"],[""],[""],[""],[""]];if(!a.length&&!b.
length){tableOf("cmp-faults",[["faults"]],[{cells:[["No fault was started in either."]]}]);return}tableOf("cmp-faults",heads,Array.from({length:Math.max(a.length,
b.length)},(_,place)=>({differs:!1,cells:[[String(place),"num"],...cellsOf(a[place]),...cellsOf(b[place])]})),!0)}function merged(a,b,names){return uPlot.join([
a,b].map(run=>[run.time,...names.map(name=>run[name])]))}function bandsOf({curves}){return{faults:curves?.faults??[],still:curves?.still,faultColours:Compare.data.
faultColours}}function halfBands(context,_data,toX,left,right,top,height){for(let[half,run]of[Compare.a,Compare.b].entries())drawBands(context,bandsOf(run),toX,
left,right,top+half*height/2,height/2)}function drawCurves(a,b){for(let{plot}of Charts.plots)plot.destroy();Charts.plots.length=0;let curves=[a.curves,b.curves].
filter(Boolean);if(View.reset(Math.max(1,...curves.map(run=>run.end)),Math.min(0,...curves.map(run=>run.start))),curves.length<2)return;let inks={a:()=>Ink["run\
-a"],b:()=>Ink["run-b"]},data={faults:[],phases:[{name:"main",start:0}],faultColours:Compare.data.faultColours};makePlot(data,"c-rate",200,[line("A",inks.a,{width:1.75}),
line("B",inks.b,{width:1.75,dash:[6,3]})],merged(a.curves,b.curves,["ok"]),{background:halfBands});let[times,a50,a99,b50,b99]=merged(a.curves,b.curves,["p50","p\
99"]);makePlot(data,"c-latency",200,[line("A p50",inks.a,{width:1}),line("A p99",inks.a,{width:2}),line("B p50",inks.b,{width:1,dash:[6,3]}),line("B p99",inks.b,
{width:2,dash:[6,3]})],[times,a50,a99,b50,b99],{scale:logScale(),axis:logAxis,background:halfBands})}function drawAvailability(){let canvas=document.getElementById(
"c-availability"),step=18,area=prepareCanvas(canvas,4*step+34),{context}=area,toX=scaleX(area,View.from,View.to);[["A",Compare.a],["B",Compare.b]].forEach(([letter,
run],place)=>{let top=place*(2*step+6),{curves}=run;if(rowLabel(area,`${letter} faults`,top+step/2),rowLabel(area,`${letter} ok`,top+step*1.5),!curves)return;drawBands(
context,bandsOf(run),toX,area.left,area.right,top,2*step),context.fillStyle=Ink.ink,context.textAlign="left",context.textBaseline="middle";for(let fault of curves.
faults){let from=Math.max(toX(fault.start),area.left),to=Math.min(toX(fault.end),area.right);fault.state!=="skipped"&&context.fillText(clip(context,fault.fault,
to-from-8),from+4,top+step/2)}let[width,lengths]=curves.available,at=curves.start;for(let[value,count]of lengths){let from=Math.max(toX(at),area.left),to=Math.min(
toX(Math.min(at+count*width,curves.end)),area.right);at+=count*width,!(to<=from)&&drawAvailable(context,value,Ink[`run-${letter.toLowerCase()}`],from,to,top+step,
step)}}),drawTimeAxis(area,toX,4*step+12)}function drawLegend(a,b){let item=(name,make)=>{let entry=el("li");return entry.append(make,document.createTextNode(name)),
entry},swatch=(kind,className,width,y,height)=>{let picture=svg("svg",{class:kind,viewBox:`0 0 ${width} 10`,"aria-hidden":"true"});return picture.append(svg("re\
ct",{class:className,width,y,height})),picture},strip=(text,...bars)=>{let entry=el("li");for(let[className,y,height]of bars)entry.append(swatch("swatch long",className,
28,y,height));return entry.append(text),entry},families=[...new Set([a,b].flatMap(run=>run.curves?.faults??[]).filter(fault=>fault.state!=="skipped").map(fault=>fault.
family))];document.getElementById("cmp-legend").replaceChildren(item(` ${a.run}`,el("span","A","letter a")),item(` ${b.run}`,el("span","B","letter b")),...families.
map(family=>item(`${family} fault`,swatch("swatch band",`f-${family}`,10,0,10))),...families.length?[el("li","bands: a fault is in effect; paler: it is being in\
stalled or healed")]:[],...[a,b].some(run=>run.curves?.still?.length)?[item("the harness itself was stalled",swatch("swatch band","role",10,0,10))]:[],strip("so\
me ok in a quarter of a second",["o-run-a",2,6],["o-run-b",2,6]),strip("answers, none of them ok",["o-no-ok",0,10]),strip("no answer",["role",4.5,1]))}function showPair(keepAddress){
let{a,b}=Compare;document.getElementById("cmp-body").hidden=!1;let without=[a,b].filter(run=>!run.curves).map(run=>run.place);document.getElementById("cmp-said").
textContent=without.length?`No operations can be read of ${without.join(" and of ")}: the curves are left out.`:"";for(let id of["c-rate","c-latency","c-availab\
ility"])document.getElementById(id).closest(".chart").hidden=id!=="c-availability"&&without.length>0;if(drawTables(a,b),drawLegend(a,b),drawCurves(a,b),drawAvailability(),
drawRecovery(a,b),document.getElementById("cmp-a").value=a.place,document.getElementById("cmp-b").value=b.place,!keepAddress)try{history.replaceState(null,"",`?${new URLSearchParams(
{a:a.place,b:b.place})}`)}catch{}}function wireChoice(){let{runs,choices}=Compare.data,all=choices.length?choices:runs.map(({place,verdict})=>[place,verdict]);for(let letter of[
"a","b"]){let select=document.getElementById(`cmp-${letter}`);for(let[place,verdict]of all)select.append(option(place,`${place} · ${verdict}`));select.addEventListener(
"input",()=>{let found=runs.find(run=>run.place===select.value),other=Compare[letter==="a"?"b":"a"].place;found?(Compare[letter]=found,showPair(!1)):location.search=
new URLSearchParams({a:other,b:other,[letter]:select.value})})}document.getElementById("cmp-swap").addEventListener("click",()=>{[Compare.a,Compare.b]=[Compare.
b,Compare.a],showPair(!1)}),document.getElementById("cmp-choice").hidden=!1}async function startCompare(){readInk();let redraw=()=>{readInk(),resizeCharts(),View.
changed(),Compare.a&&Compare.b&&drawRecovery(Compare.a,Compare.b)};wireTheme(redraw);let packed=document.getElementById("packed").textContent;Compare.data=packed.
trim()?await unpack(packed):{runs:[]};let{runs}=Compare.data,asked=new URLSearchParams(location.search);if(runs.length>1){let find=(letter,otherwise)=>runs.find(
run=>run.place===asked.get(letter))??(asked.has(letter)?null:otherwise);Compare.a=find("a",runs[1]),Compare.b=find("b",runs[0]);let missing=["a","b"].filter(letter=>!Compare[letter]).
map(letter=>asked.get(letter));View.listeners.push(()=>{Compare.a&&Compare.b&&drawAvailability()}),shareView(),wireChoice(),missing.length?(document.getElementById(
"cmp-said").textContent=`This copy holds the curves of the newest ${runs.length} runs only, not those of ${missing.join(" and ")}; harness serve compares any tw\
o.`,Compare.a??=runs[1],Compare.b??=runs[0]):showPair(!0);let canvas=document.getElementById("c-availability");followPointer(canvas,!0),cursorLine(canvas.parentElement),
canvas.addEventListener("keydown",event=>{ViewKeys[event.key]&&!event.ctrlKey&&!event.metaKey&&(event.preventDefault(),ViewKeys[event.key]())}),new ResizeObserver(
redraw).observe(document.querySelector("main"))}document.documentElement.dataset.ready="yes",performance.mark("usable")}window.page={Charts,Compare,View};startCompare().
catch(error=>{document.getElementById("cmp-said").textContent=`The comparison could not be drawn: ${error.message}`,console.error(error)});})();
