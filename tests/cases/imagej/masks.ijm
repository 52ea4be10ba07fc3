// Regions, and their masks, as ImageJ 1.53t makes them: imagej -batch masks.ijm FOLDER/
dir = getArgument();
setBatchMode(true);
function keep(name) {
  saveAs("selection", dir + name + ".roi");
  setColor(255); fill();
  run("Select None");
  saveAs("PNG", dir + name + ".png");
  close();
}
function begin() { newImage("m", "8-bit black", 64, 48, 1); }
begin(); makeRectangle(7, 5, 23, 16); keep("rectangle");
begin(); makeOval(10, 12, 35, 28); keep("oval_odd");
begin(); makeOval(9, 7, 20, 31); keep("oval_even");
begin(); makeOval(30, 20, 3, 2); keep("oval_small");
begin(); makePolygon(5,4, 50,9, 40,30, 61,45, 12,40); keep("polygon");
begin(); makeSelection("polygon", newArray(5.3,50.7,40.2,12.5), newArray(4.6,9.1,44.5,40.9)); keep("polygon_subpixel");
xs = newArray(60); ys = newArray(60);
for (i = 0; i < 60; i++) { r = 18 + 4 * sin(i * 0.7); xs[i] = round(32 + r * cos(i * PI / 30)); ys[i] = round(24 + r * sin(i * PI / 30)); }
begin(); makeSelection("freehand", xs, ys); keep("freehand");
newImage("w", "8-bit black", 64, 48, 1); setColor(200); fillOval(8, 6, 40, 30); setColor(0); fillRect(20, 0, 5, 12); doWand(30, 20); 
saveAs("selection", dir + "traced.roi"); close();
begin(); open(dir + "traced.roi"); keep("traced");
