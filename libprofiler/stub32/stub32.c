/* libcrosswind.so for 32-bit programs: nothing but a file that ld.so can load, so that it prints no line about ours. */
const char xw_stub32[] = "Crosswind does not count 32-bit programs";
