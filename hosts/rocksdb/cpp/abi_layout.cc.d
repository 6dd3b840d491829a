plugin/springbloom/abi_layout.cc.d plugin/springbloom/abi_layout.o \
 plugin/springbloom/abi_layout.o: plugin/springbloom/abi_layout.cc \
 plugin/springbloom/abi.h plugin/springbloom/springbloom_abi.h \
 plugin/springbloom/springbloom_abi_layout.h
