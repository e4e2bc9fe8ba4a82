// What C++ programs do with files: nothing but streams. Reads `text` and `numbers`, writes `out`.
#include <fstream>
#include <iostream>
#include <string>

int main()
{
    std::ifstream text("text"), numbers("numbers"), again("text", std::ios::binary);
    std::ofstream out("out");
    std::string line;
    char block[1000];
    double number, sum = 0;
    long n = 0;
    while (std::getline(text, line))
        out << n++ << ' ' << line << '\n';
    while (numbers >> number)
        sum += number;
    while (again.read(block, sizeof block))
        n += again.gcount();
    out.close();
    std::fstream both("out", std::ios::in | std::ios::out);
    both.seekp(100);
    both << "changed";
    both.seekg(0);
    both >> line;
    std::cout << n << ' ' << sum << std::endl;
}
