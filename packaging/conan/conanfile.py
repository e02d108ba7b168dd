"""Conan 2 recipe: conan create packaging/conan, from the tree that it stands in. SLEEF is a package of its own."""
import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

required_conan_version = '>=2.0'


class Posenc(ConanFile):
    name = 'posenc'
    license = 'MIT'
    description = 'Position information for Transformers on CPUs'
    topics = ('transformer', 'rope', 'attention', 'simd')
    package_type = 'library'
    languages = 'C'
    settings = 'os', 'arch', 'compiler', 'build_type'
    options = {'shared': [True, False], 'fPIC': [True, False]}
    default_options = {'shared': False, 'fPIC': True}
    implements = ['auto_shared_fpic']

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, '../../include/posenc/types.h'))
        self.version = header.split('POSENC_VERSION "')[1].split('"')[0]

    def export_sources(self):
        root = os.path.join(self.recipe_folder, '../..')
        for pattern in ('CMakeLists.txt', 'LICENSE', 'cmake/*', 'include/*', 'src/*'):
            copy(self, pattern, root, self.export_sources_folder)

    def requirements(self):
        self.requires('sleef/[>=3.5 <5]')

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables['POSENC_LIBRARY'] = 'shared' if self.options.shared else 'static'
        toolchain.cache_variables['POSENC_SLEEF'] = 'system'
        toolchain.cache_variables['CMAKE_PREFIX_PATH'] = self.dependencies['sleef'].package_folder.replace('\\', '/')
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, 'LICENSE', self.source_folder, os.path.join(self.package_folder, 'licenses'))
        for folder in ('lib/cmake', 'lib/pkgconfig', 'share'): # Conan makes these of package_info
            rmdir(self, os.path.join(self.package_folder, folder))

    def package_info(self):
        self.cpp_info.libs = ['posenc']
        self.cpp_info.set_property('cmake_file_name', 'posenc')
        self.cpp_info.set_property('cmake_target_name', 'posenc::posenc')
        self.cpp_info.set_property('pkg_config_name', 'posenc')
        if self.settings.os in ('Linux', 'FreeBSD'):
            self.cpp_info.system_libs = ['m']
